# shellcheck shell=bash
# Sourced by scripts/minicluster: booting all hosts, and waiting until Slurm can use the nodes.

boot_hosts() {
    local h pid pids=() failed=
    ! has_storage || boot_host storage # the others mount what it serves
    boot_host login # first: a slurmd that does not find slurmctld waits seconds to try again
    for h in $(nodes); do
        boot_host "$h" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
    [[ -z $failed ]] || die "not every host came up" "\`minicluster status\` shows which"
}

# Lines "NODE STATE" of the nodes that cannot take jobs; fails when slurmctld does not answer.
unready_nodes() {
    local all
    all=$(in_host login sinfo -h -N -o '%N %T' 2>/dev/null) || return 1
    grep -E ' (down|drain|fail|unk|maint|reboot|power)|\*$' <<<"$all" | sort -u || true
    unheard_nodes
}

# Nodes whose slurmd slurmctld has not heard of since they booted: it calls them as before, and down
# as soon as it hears of the boot. And nodes that it might yet call down a second time (see start_daemon).
unheard_nodes() {
    local h all started certain_after_s=3
    all=$(in_host login env SLURM_TIME_FORMAT=%s scontrol -o show nodes 2>/dev/null) || return 1
    for h in $(nodes); do
        started=$(sed -nE "s/^NodeName=$h .* SlurmdStartTime=([0-9]+).*/\1/p" <<<"$all")
        ((${started:-0} >= $(stat -c %Y "$HOSTS_DIR/$h/init.pid"))) || echo "$h booting"
        ! has_booted_again "$h" || ((EPOCHSECONDS >= ${started:-0} + certain_after_s)) || echo "$h booting"
    done
}

resume_nodes() { # LINES as of unready_nodes
    local node state
    while read -r node state; do
        case $state in
            drained* | draining* | down*)
                in_host login scontrol update "nodename=$node" state=resume 2>/dev/null || true ;;
        esac
    done <<<"$1"
}

wait_for_nodes() {
    local deadline=$((SECONDS + 45)) unready='slurmctld does not answer'
    while ((SECONDS < deadline)); do
        if unready=$(unready_nodes); then
            [[ -n $unready ]] || return 0
            resume_nodes "$unready"
        else
            unready='slurmctld does not answer'
        fi
        sleep 0.2
    done
    die "nodes not ready: $unready" "see the logs in $HOSTS_DIR/*/var/log"
}
