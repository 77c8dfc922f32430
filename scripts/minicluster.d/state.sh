# shellcheck shell=bash
# Sourced by scripts/minicluster: the state directory, its lock, and how files are written there.

# Readers never meet half a file, however `up` ended.
write_file() { # PATH <CONTENT
    cat >"$1.new"
    mv "$1.new" "$1"
}

check_state_path() {
    # The path is written into an ssh config, where these need no quoting.
    [[ $STATE =~ ^[A-Za-z0-9/._+-]+$ ]] ||
        die "MC_STATE=$STATE holds characters other than A-Z a-z 0-9 / . _ + -" "use a plainer path"
    is_ours || die "MC_STATE=$STATE exists and is not a minicluster directory" \
        "name an empty or a new directory"
}

is_ours() { [[ ! -e $STATE || -e $OURS || (-d $STATE && -z $(ls -A "$STATE")) ]]; }

# One change at a time. The lock is on the directory itself, so that none is left behind;
# `down --purge` may have removed it while we waited.
#
# Helper processes inherit descriptor 9 and give it up only once they are in one of the
# cluster's network namespaces. So when an `up` was killed, whoever gets the lock next can
# find everything it left running by namespace alone.
lock() {
    while :; do
        mkdir -p "$STATE"
        exec 9<"$STATE"
        flock -w 120 9 || die "another minicluster is at work in $STATE" "wait for it, or end it"
        [[ ! $STATE -ef /proc/self/fd/9 ]] || return 0
    done
}

purge() {
    rm -rf --one-file-system "$HOSTS_DIR" "$SHARED" "$KEYS" "$LAPTOP"
    rm -f "$STATE"/{settings,settings.new,apt.log} "$OURS"
    rmdir --ignore-fail-on-non-empty "$STATE"
}
