# shellcheck shell=bash
# Sourced by scripts/minicluster: the Debian packages that a cluster needs.

PACKAGES=(slurm-wlm munge openssh-server openssh-client libpam-slurm libpam-slurm-adopt
    tmux lz4 iproute2 procps xauth)
COMMANDS=(slurmctld slurmd salloc munged sshd ssh ssh-keygen xauth tmux lz4 ip pgrep)
PAM_MODULES=(pam_slurm pam_slurm_adopt)
STORAGE_PACKAGES=(glusterfs-server glusterfs-client)
STORAGE_COMMANDS=(glusterd mount.glusterfs)
SECOND_FACTOR_PACKAGES=(libpam-oath oathtool)
SECOND_FACTOR_COMMANDS=(oathtool)
ACCOUNTING_PACKAGES=(slurmdbd mariadb-server)
ACCOUNTING_COMMANDS=(slurmdbd mariadbd mariadb mariadb-install-db)

missing_software() {
    local x commands=("${COMMANDS[@]}")
    ! has_storage || commands+=("${STORAGE_COMMANDS[@]}")
    ! has_accounting || commands+=("${ACCOUNTING_COMMANDS[@]}")
    ! has_second_factor || commands+=("${SECOND_FACTOR_COMMANDS[@]}")
    for x in "${commands[@]}"; do command -v "$x" >/dev/null || echo "$x"; done
    for x in "${PAM_MODULES[@]}"; do
        compgen -G "/lib/security/$x.so" >/dev/null ||
            compgen -G "/lib/*/security/$x.so" >/dev/null || echo "$x"
    done
}

apt_install() {
    local packages=("${PACKAGES[@]}")
    ! has_storage || packages+=("${STORAGE_PACKAGES[@]}")
    ! has_accounting || packages+=("${ACCOUNTING_PACKAGES[@]}")
    ! has_second_factor || packages+=("${SECOND_FACTOR_PACKAGES[@]}")
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${packages[@]}" >>"$STATE/apt.log" 2>&1
}

install_packages() {
    local missing daemons_before
    missing=$(missing_software | paste -sd' ')
    [[ -n $missing ]] || return 0
    command -v apt-get >/dev/null ||
        die "missing: $missing" "minicluster needs Debian or a relative of it"
    say "missing: $missing; installing packages"
    daemons_before=$(machine_daemons)
    : >"$STATE/apt.log"
    exec 8</var/lib/dpkg # clusters starting together install one after the other
    flock 8
    # A fresh machine has no package lists; an old one may have lists of what is gone.
    apt_install || { apt-get update >>"$STATE/apt.log" 2>&1 && apt_install; } ||
        die "apt-get failed: $(tail -n 1 "$STATE/apt.log")" "see $STATE/apt.log"
    exec 8<&-
    missing=$(missing_software | paste -sd' ')
    [[ -z $missing ]] || die "still missing after installation: $missing" "see $STATE/apt.log"
    warn_of_started_daemons "$daemons_before"
}

# Those of the machine itself; daemons of clusters have network namespaces of their own.
machine_daemons() {
    ps -eo netns=,comm= | awk -v ours="$(stat -Lc %i /proc/self/ns/net)" \
        '$1 == ours && $2 ~ /^(munged|slurmctld|slurmd|slurmdbd|mariadbd|sshd)$/ {print $2}' | sort -u
}

# Without systemd Debian's packages start nothing. With it they may; that does not disturb
# the cluster, but the machine's owner should know.
warn_of_started_daemons() { # DAEMONS_BEFORE
    local started
    started=$(comm -13 <(printf '%s' "$1") <(machine_daemons) | paste -sd' ')
    [[ -z $started ]] || say "the packages started $started on this machine;" \
        "minicluster does not need that: stop it with systemctl disable --now if you do not either"
}
