# shellcheck shell=bash
# Sourced by scripts/minicluster: MC_FSX=gluster, where /fsx is GlusterFS with a FUSE mount of each host's own.
#
# The host `storage` runs glusterd and one brick, its own /scratch/brick. Everything here runs inside
# hosts, so `crash` and `down` find it like any other process, and the mounts go with their hosts.

VOLUME=fsx

has_storage() { [[ $FSX == gluster ]]; }

# GlusterFS keeps its own notes in trusted.* attributes, which only the machine's real root may set.
is_real_root() { [[ $(</proc/self/uid_map) =~ ^\ *0\ +0\ +4294967295$ ]]; }

# /fsx as this host's own client sees it. A client that died leaves a mount that answers nobody.
mount_fsx() { # HOST
    has_storage || return 0
    [[ $1 != storage ]] || start_volume
    ! is_fsx_mounted "$1" || return 0
    in_host "$1" umount --lazy /fsx 2>/dev/null || true # not mounted, or dead
    in_host "$1" mkdir -p /var/log/glusterfs
    in_host "$1" mount -t glusterfs "storage:/$VOLUME" /fsx ||
        die "/fsx on $1 cannot be mounted" "see the logs in $HOSTS_DIR/$1/var/log/glusterfs"
    [[ $1 != storage ]] || in_host storage chmod 1777 /fsx
}

is_fsx_mounted() { # HOST
    [[ $(in_host "$1" timeout 60 stat -f -c %T /fsx 2>/dev/null) == fuseblk ]]
}

# After a crash glusterd starts the brick of a started volume by itself.
start_volume() {
    local deadline=$((SECONDS + 30)) said=
    in_host storage mkdir -p /run/gluster /var/lib/glusterd /var/log/glusterfs/bricks /scratch/brick
    start_daemons storage ''
    until is_volume_started; do
        ((SECONDS < deadline)) || die "GlusterFS does not start: $said" \
            "see the logs in $HOSTS_DIR/storage/var/log/glusterfs"
        said=$(make_volume 2>&1) || sleep 0.2 # glusterd may not listen yet
    done
}

is_volume_started() { in_gluster volume info "$VOLUME" 2>/dev/null | grep -qx 'Status: Started'; }

make_volume() {
    in_gluster volume info "$VOLUME" &>/dev/null ||
        in_gluster volume create "$VOLUME" storage:/scratch/brick force || return 1
    in_gluster volume start "$VOLUME" force
}

in_gluster() { in_host storage gluster --mode=script "$@"; }
