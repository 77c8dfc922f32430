# shellcheck shell=bash
# Sourced by scripts/minicluster: every verb but `inside`.

# Removes what a cluster has outside its directory, however much of it there is.
clear_machine() {
    local started
    mapfile -t started < <(hosts_with_net)
    power_off "${started[@]}"
    remove_cgroups
    release_range
    drop_nets
    # The range may be another cluster's tomorrow: no ssh config must lead there.
    rm -f "$HOSTS_DIR"/*/{init.pid,booted,booted-again} "$LAPTOP/ssh_config"
}

start_cold() {
    clear_machine # what a machine reboot or a killed `up` left
    read_settings_from_environment
    : >"$OURS"
    install_packages
    forget_jobs
    claim_range
}

cmd_up() {
    local begin=$EPOCHREALTIME
    is_claimed || start_cold # a running cluster keeps the settings it was started with
    make_keys
    make_shared_dirs
    write_slurm_files
    write_laptop_files
    network_up
    boot_hosts
    wait_for_nodes
    say "up in $(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}') s;" \
        "laptop ssh config: $LAPTOP/ssh_config"
    cat "$LAPTOP/ssh_config"
}

cmd_down() { # [--purge]
    [[ $# == 0 || $* == --purge ]] || misuse "down takes --purge or nothing, not: $*"
    clear_machine
    if [[ ${1:-} == --purge ]]; then purge; fi
    say "down"
}

# Memory of a host's processes: proportional set size, MiB.
host_memory() { # HOST
    pids_of "$1" |
        while read -r pid; do cat "/proc/$pid/smaps_rollup" 2>/dev/null || true; done |
        awk '/^Pss:/ {kb += $2} END {printf "%d", kb / 1024}'
}

# One line; fails when something of the host is missing.
host_status() { # HOST
    local pid d code=0 notes=
    if ! pid=$(init_pid "$1"); then
        printf '%-8s down\n' "$1"
        return 1
    fi
    for d in $(daemons_of "$1"); do
        if daemon_pid "$1" "$d" >/dev/null; then notes+=" $d"; else notes+=" $d(DEAD)" code=1; fi
    done
    ! has_storage || is_fsx_mounted "$1" || { notes+=" /fsx(LOST)" code=1; }
    is_plugged "$1" || { notes+=" cable(OUT)" code=1; }
    printf '%-8s %-12s pid %-7s %3s MiB %s\n' \
        "$1" "$(address_of "$1")" "$pid" "$(host_memory "$1")" "$notes"
    return "$code"
}

cmd_status() {
    local h code=0
    if ! is_claimed; then
        echo "down ($STATE)"
        exit 3
    fi
    for h in $(hosts); do host_status "$h" || code=1; done
    if init_pid login >/dev/null; then
        in_host login sinfo -N -o '%.8N %.10P %.12T %.10C %.8G %E' || code=1
    fi
    exit "$code"
}

cmd_exec() { # [-u USER] HOST CMD...
    local user='' code=0
    if [[ ${1:-} == -u && $# -ge 2 ]]; then
        user=$2
        shift 2
    fi
    (($# >= 2)) || misuse "exec needs [-u USER] HOST CMD..."
    require_claimed
    is_host "$1" || die "no such host: $1" "the hosts are: $(hosts | paste -sd' ')"
    if [[ -n $user ]]; then in_host_as "$user" "$@" || code=$?; else in_host "$@" || code=$?; fi
    exit "$code"
}

cmd_ssh_config() {
    [[ -r $LAPTOP/ssh_config ]] ||
        die "no readable ssh config in $LAPTOP" "\`minicluster up\` writes it"
    cat "$LAPTOP/ssh_config"
}

cmd_stop() { # HOST DAEMON
    local pid
    [[ " $(daemons_of "$1") " == *" ${2:-} "* ]] ||
        die "$1 has no daemon '${2:-}'" "it has: $(daemons_of "$1")"
    pid=$(daemon_pid "$1" "$2") || return 0
    in_host "$1" kill -KILL "$pid"
}

cmd_link() { # HOST up|down
    [[ ${2:-} =~ ^(up|down)$ ]] || misuse "link needs HOST up|down"
    in_net login ip link set "$(cable_of "$1")" "$2"
}

cmd_fault() { # VERB HOST [ARGUMENT]
    require_claimed
    is_host "${2:-}" || die "no such host: ${2:-}" "the hosts are: $(hosts | paste -sd' ')"
    is_net "$(net_file "$2")" || die "$2 was never started" "run \`minicluster up\`"
    case $1 in
        crash) crash_host "$2" ;;
        boot) boot_host "$2" ;;
        stop) cmd_stop "${@:2}" ;;
        link) cmd_link "${@:2}" ;;
    esac
}

require_root() { # VERB
    [[ $EUID == 0 ]] || die "$1 needs root" "use sudo, or \`minicluster inside CMD...\`"
}
