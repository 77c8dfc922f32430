# shellcheck shell=bash
# Sourced by scripts/minicluster: network namespaces, the address range, cables.

# A network namespace is kept by a mount on a file in the state directory rather than by
# `ip netns`, whose names are machine-wide and whose /run/netns mount would stay behind.
net_file() { echo "$HOSTS_DIR/$1/net"; }
is_net() { [[ -f $1 && $(stat -f -c %T "$1") == nsfs ]]; } # not so after a machine reboot
in_net() { nsenter --net="$(net_file "$1")" -- "${@:2}"; } # HOST CMD...

make_net() { # HOST
    local file
    file=$(net_file "$1")
    ! is_net "$file" || return 0
    mkdir -p "${file%/*}"
    touch "$file"
    unshare --net="$file" true
}

# Whatever the settings say now: also those of an `up` with more nodes.
hosts_with_net() {
    local f
    for f in "$HOSTS_DIR"/*/net; do
        if is_net "$f"; then basename "${f%/net}"; fi
    done
}

laptop_link() { echo "mc-$NET"; } # at most 10 of the 15 characters a link name may have

# login's end of the laptop's cable: there from claim_range to release_range. As long as it
# is, the cluster counts as up (perhaps broken), and NET is its range.
is_claimed() { is_net "$(net_file login)" && in_net login ip link show eth0 &>/dev/null; }

require_claimed() {
    is_claimed || die "the cluster in $STATE is down" "start it with \`minicluster up\`"
}

add_laptop_link() {
    ip link add "$(laptop_link)" type veth peer name eth0 netns "$(net_file login)"
}

range_in_use() { [[ -n $(ip -4 route show table all root "$NET.0.0/16") ]]; }

# Creating the link is the claim: the kernel lets one cluster only have a link of that name.
# The settings are saved first, so that `down` knows the range from the first moment.
claim_range() {
    local wanted=$NET candidates=("$NET") why='a route into it exists'
    [[ -n $wanted ]] || mapfile -t candidates < <(printf '10.%d\n' {77..126})
    make_net login
    for NET in "${candidates[@]}"; do
        ! range_in_use || continue
        save_settings
        ! why=$(add_laptop_link 2>&1) || return 0
    done
    drop_nets
    [[ -z $wanted ]] || die "MC_NET=$wanted is in use: $why" \
        "leave MC_NET unset to get a free range; \`ip -4 route\` and \`ip link\` show who has it"
    die "no address range from 10.77 to 10.126 is free: $why" "choose one with MC_NET"
}

# login's end goes, and takes the laptop's with it: no other cluster's link can be hit.
release_range() {
    is_claimed || return 0
    ip route del unreachable "$NET.0.0/24" 2>/dev/null || true # absent with MC_DIRECT=1
    in_net login ip link del eth0
}

network_up() {
    local h
    for h in $(hosts); do
        make_net "$h"
        in_net "$h" ip link set lo up
    done
    connect_laptop
    in_net login ip link show br0 &>/dev/null || in_net login ip link add br0 type bridge
    in_net login ip addr replace "$(address_of login)/24" dev br0
    in_net login ip link set br0 up
    for h in $(hosts); do [[ $h == login ]] || connect_node "$h"; done
}

connect_laptop() {
    ip link set "$(laptop_link)" alias "minicluster $STATE" up
    ip addr replace "$NET.1.1/30" dev "$(laptop_link)"
    in_net login ip addr replace "$(login_front)/30" dev eth0
    in_net login ip link set eth0 up
    in_net login sh -c "echo $DIRECT >/proc/sys/net/ipv4/ip_forward"
    if [[ $DIRECT == 1 ]]; then
        ip route replace "$NET.0.0/24" via "$(login_front)"
    else
        # Never let packets for the nodes leave this machine by its default route.
        ip route replace unreachable "$NET.0.0/24"
    fi
}

connect_node() { # NODE, or storage
    in_net login ip link show "$1" &>/dev/null ||
        in_net login ip link add "$1" type veth peer name eth0 netns "$(net_file "$1")"
    in_net login ip link set "$1" master br0 up
    in_net "$1" ip addr replace "$(address_of "$1")/24" dev eth0
    in_net "$1" ip link set eth0 up
    in_net "$1" ip route replace default via "$(address_of login)"
}

# A cable is cut at login's end. For login that is the cable to the laptop: cut at the laptop's
# end, the route would go too, and packets would leave this machine by its default route.
cable_of() { if [[ $1 == login ]]; then echo eth0; else echo "$1"; fi; } # HOST
is_plugged() { in_net login ip link show up dev "$(cable_of "$1")" 2>/dev/null | grep -q .; }

# Lazily: a `status` that runs at this moment may be looking at one.
drop_nets() {
    local h
    for h in $(hosts_with_net); do umount --lazy "$(net_file "$h")"; done
    rm -f "$HOSTS_DIR"/*/net
}
