# shellcheck shell=bash
# Sourced by scripts/minicluster: booting a host, running a command on it, powering it off.

# The pid of the host's first process, if it lives: it must be pid 1 of its own pid
# namespace and sit in the host's network namespace (no reused pid passes).
init_pid() { # HOST
    local pid file=$HOSTS_DIR/$1/init.pid net
    [[ -s $file ]] || return 1
    pid=$(<"$file")
    net=$(net_file "$1")
    is_net "$net" && [[ /proc/$pid/ns/net -ef $net ]] || return 1
    grep -qE '^NSpid:.*[[:space:]]1$' "/proc/$pid/status" 2>/dev/null || return 1
    echo "$pid"
}

require_running() { # HOST: prints its first pid
    init_pid "$1" || die "$1 is down" "start it with \`minicluster boot $1\` or \`minicluster up\`"
}

# As root, with a clean environment. The shell in between gives up the lock (see lock).
in_host() { # HOST CMD...
    local pid
    pid=$(require_running "$1") || exit 1
    shift
    # shellcheck disable=SC2016 # expanded by the inner shell
    nsenter -t "$pid" -m -u -i -n -p -- /bin/sh -c 'exec 9>&-; exec "$@"' sh /usr/bin/env -i -C / \
        HOME=/root USER=root LOGNAME=root PATH="$HOST_PATH" TERM="${TERM:-dumb}" "$@"
}

in_host_as() { # USER HOST CMD...
    local user=$1 host=$2
    shift 2
    in_host "$host" setpriv --reuid="$user" --regid="$user" --init-groups -- \
        /usr/bin/env -C "/home/$user" \
        HOME="/home/$user" USER="$user" LOGNAME="$user" SHELL=/bin/bash "$@"
}

# The first process of a host. Starts in fresh namespaces, ends as a wait that reaps.
host_init() { # HOST
    local h=$1 pid
    read -r pid _ </proc/self/stat # /proc is still the machine's: the outer pid
    hostname "$h"
    mount -t tmpfs -o mode=755,size=8m mc-root "$HOSTS_DIR/$h/root"
    # shellcheck disable=SC2164 # scripts/minicluster sets -e
    cd "$HOSTS_DIR/$h/root"
    mount_root "$h"
    exec 3>"$HOSTS_DIR/$h/init.pid"
    pivot_root . .old
    cd /
    umount -l /.old
    rmdir /.old
    echo "$pid" >&3 # from here on the host counts as booted
    # shellcheck disable=SC2016 # expanded by the inner shell
    exec env -i PATH="$HOST_PATH" /bin/bash -c \
        'trap : TERM INT HUP; while :; do sleep infinity & wait $!; done' "init-$h" 3>&-
}

boot_host() { # HOST
    local h=$1 again='' asked=$EPOCHSECONDS
    if ! init_pid "$h" >/dev/null; then
        ! has_booted "$h" || again=1
        # slurmctld tells when a slurmd started in whole seconds: the one before must not seem to be this one.
        while ((EPOCHSECONDS == asked)); do sleep 0.05; done
        power_off "$h" # what a killed `up` left of it
        make_host_etc "$h"
        make_host_var "$h"
        start_init "$h"
        [[ -z $again ]] || touch "$HOSTS_DIR/$h/booted-again"
        touch "$HOSTS_DIR/$h/booted"
    fi
    mount_fsx "$h"
    start_daemons "$h" "$again"
}

# Whether the host has booted, or booted again after a crash, since the cluster came up.
has_booted() { [[ -e $HOSTS_DIR/$1/booted ]]; }
has_booted_again() { [[ -e $HOSTS_DIR/$1/booted-again ]]; }

start_init() { # HOST
    local h=$1 dir=$HOSTS_DIR/$1 starter deadline=$((SECONDS + 30))
    mkdir -p "$dir/root"
    rm -f "$dir/init.pid"
    # In a session of its own: a Ctrl-C meant for us is not for the host.
    # shellcheck disable=SC2016 # expanded by the inner shell, which gives up the lock (see lock)
    setsid nsenter --net="$(net_file "$h")" -- /bin/sh -c 'exec 9>&-; exec "$@"' sh \
        unshare --mount --uts --ipc --pid --fork --propagation private \
        -- "$BASH" "$SELF" __init "$h" </dev/null >"$dir/boot.log" 2>&1 &
    starter=$!
    until [[ -s $dir/init.pid ]]; do
        if ! kill -0 "$starter" 2>/dev/null || ((SECONDS > deadline)); then
            die "$h did not boot: $(tail -n 3 "$dir/boot.log")" "see $dir/boot.log"
        fi
        sleep 0.05
    done
}

# Every process of a host, those still on their way in included, is in its network namespace.
pids_of() { # HOST...
    local h
    {
        for h in "$@"; do stat -Lc 'N %i' "$(net_file "$h")"; done
        stat -Lc 'P %i %n' /proc/[0-9]*/ns/net 2>/dev/null || true # some end meanwhile
    } |
        awk '$1 == "N" {ours[$2]} $1 == "P" && $2 in ours {split($3, part, "/"); print part[3]}'
}

power_off() { # HOST...
    local h pids deadline=$((SECONDS + 30))
    for h in "$@"; do thaw_cgroups "$h"; done
    while :; do
        mapfile -t pids < <(pids_of "$@")
        ((${#pids[@]})) || return 0
        ((SECONDS < deadline)) ||
            die "these processes do not die: ${pids[*]}" "try \`minicluster down\` again"
        kill -KILL "${pids[@]}" 2>/dev/null || true # some are gone already
        sleep 0.02
    done
}

crash_host() { # HOST
    power_off "$1"
    rm -f "$HOSTS_DIR/$1/init.pid"
}
