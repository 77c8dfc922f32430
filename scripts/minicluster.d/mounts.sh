# shellcheck shell=bash
# Sourced by scripts/minicluster: a host's root file system, mounted in its own namespace.

mount_root() { # HOST: into the current directory, an empty tmpfs
    local h=$1 x
    for x in bin sbin lib lib32 lib64 libx32; do
        if [[ -L /$x ]]; then
            cp -P "/$x" "$x"
        elif [[ -d /$x ]]; then
            mkdir "$x"
            bind_read_only "/$x" "$x"
        fi
    done
    mkdir usr etc var home fsx scratch localscratch root run tmp dev proc sys mnt opt srv .old
    chmod 700 root
    bind_read_only /usr usr
    mount -t tmpfs -o mode=755,size=8m mc-local usr/local # the machine's own tools stay out
    mkdir usr/local/{bin,sbin,lib,share}
    [[ -z $SLURM_PREFIX ]] || mount_other_slurm
    mount --bind "$HOSTS_DIR/$h/etc" etc
    mount --bind "$SHARED/slurm" etc/slurm
    mount --bind "$HOSTS_DIR/$h/var" var
    mount --bind "$HOSTS_DIR/$h/scratch" scratch
    mount --bind "$HOSTS_DIR/$h/localscratch" localscratch
    mount --bind "$SHARED/home" home
    has_storage || mount --bind "$SHARED/fsx" fsx # else see mount_fsx
    mount -t tmpfs -o mode=755,size=64m,nosuid,nodev mc-run run
    mount -t tmpfs -o mode=1777,size=1g,nosuid,nodev mc-tmp tmp
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    if [[ $PAM == adopt && $h != login ]]; then mount_freezer "$h"; fi
    mount_dev
    install -d -o munge -g munge -m 755 run/munge
    install -d run/sshd
}

# Where it was installed, because its programs look for each other and for their plugins there; and each
# program and PAM module also in place of Debian's, because that is where everybody looks for it.
mount_other_slurm() {
    local file debian
    mkdir -p ".$SLURM_PREFIX"
    bind_read_only "$SLURM_PREFIX" ".$SLURM_PREFIX"
    for file in "$SLURM_PREFIX"/{bin,sbin}/* "$SLURM_PREFIX"/{lib,lib64}/security/pam_slurm*.so; do
        debian=$(debian_file_for "$file") || continue
        mount --bind "$file" ".$debian"
    done
}

debian_file_for() { # FILE of another Slurm: the path of Debian's, links followed; fails when there is none
    local found
    case $1 in
        *.so) found=$(compgen -G "/lib/security/${1##*/}" || compgen -G "/lib/*/security/${1##*/}") ;;
        *) found=$(type -P "${1##*/}") ;;
    esac && [[ -f $1 ]] && readlink -e "${found%%$'\n'*}"
}

bind_read_only() { # SOURCE TARGET
    mount --bind "$1" "$2"
    mount -o remount,bind,ro "$2"
}

# slurmd takes the host's part of the tree for the whole of it.
mount_freezer() { # HOST
    local freezer=sys/fs/cgroup/freezer part
    part=$freezer/$(cgroup_dir)/$1
    mount -t tmpfs -o mode=755,size=1m mc-cgroup sys/fs/cgroup
    mkdir "$freezer"
    mount -t cgroup -o freezer cgroup "$freezer"
    mkdir -p "$part"
    mount --bind "$part" "$freezer"
}

mount_dev() {
    local x
    mount -t tmpfs -o mode=755,size=1m,nosuid mc-dev dev
    for x in null zero full random urandom tty $(! has_storage || echo fuse); do
        touch "dev/$x"
        mount --bind "/dev/$x" "dev/$x"
    done
    for x in fakegpu0 fakegpu1; do
        touch "dev/$x"
        mount --bind /dev/null "dev/$x"
    done
    mkdir dev/pts dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
    mount -t tmpfs -o mode=1777,size=256m mc-shm dev/shm
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    ln -s /proc/self/fd/0 dev/stdin
    ln -s /proc/self/fd/1 dev/stdout
    ln -s /proc/self/fd/2 dev/stderr
}
