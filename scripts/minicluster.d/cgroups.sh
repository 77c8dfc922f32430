# shellcheck shell=bash
# Sourced by scripts/minicluster: the freezer cgroups of MC_PAM=adopt.

# The freezer's tree is one for the whole machine: each cluster has a directory of its own.
cgroup_dir() { echo "minicluster-$(sha256sum <<<"$STATE" | cut -c1-12)"; }

has_freezer() { awk '$1 == "freezer" && $4 == 1 {found = 1} END {exit !found}' /proc/cgroups; }

# Runs CMD in the freezer's root, mounted where nobody else sees it.
in_freezer() { # CMD...
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount -- bash -c 'mount -t cgroup -o freezer cgroup "$0" && cd "$0" && exec "$@"' \
        "$HOSTS_DIR" "$@"
}

has_cgroups() { # [HOST]
    [[ $PAM == adopt && -d $HOSTS_DIR ]] && in_freezer test -d "$(cgroup_dir)/${1:-}"
}

# A frozen process (a suspended job) does not even die of SIGKILL.
thaw_cgroups() { # HOST
    has_cgroups "$1" || return 0
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_freezer find "$(cgroup_dir)/$1" -name freezer.state -exec sh -c 'echo THAWED >"$0"' {} \;
}

remove_cgroups() {
    local deadline=$((SECONDS + 10))
    has_cgroups || return 0
    # The last processes are dead but perhaps not yet out of their cgroup.
    until in_freezer find "$(cgroup_dir)" -depth -type d -exec rmdir {} + 2>/dev/null; do
        ((SECONDS < deadline)) ||
            die "cannot remove the freezer cgroup $(cgroup_dir)" "is a process still in it?"
        sleep 0.1
    done
}
