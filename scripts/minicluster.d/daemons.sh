# shellcheck shell=bash
# Sourced by scripts/minicluster: munged, sshd, slurmctld, slurmd and glusterd on a host; accounting.sh has two more.

daemon_user() { # DAEMON
    case $1 in
        munged) echo munge ;;
        slurmctld | slurmdbd) echo slurm ;;
        mariadbd) echo mysql ;;
        *) echo root ;;
    esac
}
daemon_pid() { in_host "$1" pgrep -o -u "$(daemon_user "$2")" -x "$2"; } # HOST DAEMON

start_daemons() { # HOST AGAIN
    local d
    for d in $(daemons_of "$1"); do
        daemon_pid "$1" "$d" >/dev/null || start_daemon "$1" "$d" "$2" ||
            die "$d on $1 did not start" "see the logs in $HOSTS_DIR/$1/var/log"
    done
}

start_daemon() { # HOST DAEMON AGAIN
    case $2 in
        munged) in_host "$1" setpriv --reuid=munge --regid=munge --clear-groups munged --force ;;
        glusterd) in_host storage glusterd --log-level WARNING ;;
        sshd) in_host "$1" /usr/sbin/sshd -E /var/log/sshd.log ;; # insists on an absolute path
        mariadbd) start_mariadbd "$1" ;;
        slurmdbd) start_slurmdbd "$1" ;;
        slurmctld) keep_slurmctld "$1" ;;
        # -b: the kernel did not boot with the host; make slurmctld believe it did. Only when it knows of a boot
        # before: for a second after such a start, a late message looks to it like one more boot.
        slurmd) in_host "$1" slurmd ${3:+-b} ;;
    esac
}

# Started again when it falls over a fault of its own (SIGABRT, SIGSEGV), as systemd would: an `srun`
# into a job whose end slurmctld 22.05 forgot in a crash is such a fault. `stop`, a shutdown, and a
# slurm.conf that it refuses end it for good.
keep_slurmctld() { # HOST
    # -i: state files may be missing (first start) or cut short (crash).
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_host "$1" setsid /bin/sh -c \
        '{ while "$@"; code=$?; [ $code = 134 ] || [ $code = 139 ]; do sleep 0.2; done; } </dev/null >/dev/null 2>&1 &' \
        keeper setpriv --reuid=slurm --regid=slurm --init-groups slurmctld -D -i
}
