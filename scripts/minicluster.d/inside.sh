# shellcheck shell=bash
# Sourced by scripts/minicluster: the verb `inside`, a private cluster without root.

cmd_inside() { # CMD...
    local dir userns=()
    (($#)) || misuse "inside needs CMD..."
    if [[ $EUID != 0 ]]; then
        userns=(--user --map-root-user --map-auto)
        [[ -z $(missing_software) ]] ||
            die "packages are missing" "as root: apt-get install ${PACKAGES[*]}"
        command -v newuidmap >/dev/null ||
            die "newuidmap is missing" "as root: apt-get install uidmap, and see docs/minicluster.md"
    fi
    dir=$(mktemp -d "${TMPDIR:-/tmp}/minicluster.XXXXXX")
    chmod 755 "$dir"
    exec unshare "${userns[@]}" --mount --net --pid --fork --mount-proc --kill-child \
        -- "$BASH" "$SELF" __inside "$dir" "$@"
}

inside_init() { # DIR CMD...: pid 1 of the private laptop
    local dir=$1 code=0
    shift
    ip link set lo up
    export MC_STATE=$dir/state MC_SSH_CONFIG=$dir/state/laptop/ssh_config
    if "$SELF" up >/dev/null; then "$@" || code=$?; else code=$?; fi
    "$SELF" down --purge
    rm -rf "$dir"
    exit "$code"
}
