# What scratchflow has left in this account. Read by `sh -s -- STORE…`, each as a profile writes it.
# shellcheck shell=sh disable=SC2088  # a tilde as a profile writes it, compared and not expanded
# Every line of ours starts with the mark: login shells talk too.
mark=scratchflow-trace
USER=${USER:-$(id -un)}
cd -- "${HOME:?}" || exit 1

# TEXT WORD VALUE: sets `replaced` to the text with the value for every such word.
replace() {
    rest=$1
    replaced=
    while :; do
        case $rest in
        *"$2"*) ;;
        *) break ;;
        esac
        replaced=$replaced${rest%%"$2"*}$3
        rest=${rest#*"$2"}
    done
    replaced=$replaced$rest
}

# STORE: sets `replaced` to its path here.
expand() {
    case $1 in
    "~") replaced=$HOME ;;
    "~/"*) replaced=$HOME/${1#??} ;;
    *) replaced=$1 ;;
    esac
    for name in USER HOME; do
        if [ "$name" = USER ]; then value=$USER; else value=$HOME; fi
        replace "$replaced" "\$$name" "$value"
        replace "$replaced" "\${$name}" "$value"
    done
}

# DIRECTORY: why it cannot be listed; nothing when it can, or is not there.
closed() {
    if message=$(LC_ALL=C ls -- "$1/." 2>&1 >/dev/null); then return; fi
    case $message in
    *"No such file or directory") ;;
    *) printf '%s\n' "${message##*: }" ;;
    esac
}

# NAME DIRECTORY: whether these are notes beside a workspace's snapshots, which are named like manifests. The
# snapshots of a workspace within another one lie there, too, and so that directory is looked into as a store.
is_notes() {
    case $1 in
    kept | verified) ;;
    *) return 1 ;;
    esac
    for archive in "$2"/[0-9]*Z-??????.tar.lz4; do
        [ ! -e "$archive" ] || return 1
    done
    [ ! -e "$2/store.json" ]
}

# NUMBER STORE: the workspaces that have snapshots there, how many, which nodes hold copies, how many jobs
# have records, and what each node's own record says. Also what could not be looked into, and whether there is more.
look() {
    reason=$(closed "$2")
    if [ -n "$reason" ]; then
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$mark" closed "$1" "" "$reason" "$2"
        return
    fi
    for place in "$2"/*; do
        [ -e "$place" ] || continue
        name=${place##*/}
        place=$place/
        reason=$(closed "$place")
        # What another user keeps from us in a shared directory is not ours.
        if [ -d "$place" ] && [ -n "$reason" ] &&
            [ -n "$(find "$place" -prune -user "$(id -u)" 2>/dev/null)" ]; then
            printf '%s\t%s\t%s\t%s\t%s\t%s\n' \
                "$mark" closed "$1" "$name" "$reason" "$(cd -- "$2" && pwd -P)/$name"
            continue
        fi
        count=0
        for manifest in "$place"[0-9]*Z-??????.json; do
            [ ! -e "$manifest" ] || count=$((count + 1))
        done
        if is_notes "$name" "$place"; then count=0; fi
        if [ "$count" = 0 ] && [ ! -e "$place/store.json" ]; then
            printf '%s\t%s\t%s\n' "$mark" more "$1"
            continue
        fi
        nodes=
        for record in "$place"nodes/*.json; do
            node=${record##*/}
            [ ! -e "$record" ] || nodes="$nodes ${node%.json}"
        done
        jobs=0
        for record in "$place"jobs/*/; do
            [ ! -d "$record" ] || jobs=$((jobs + 1))
        done
        real=$(cd -- "$place" && pwd -P)
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' \
            "$mark" workspace "$1" "$name" "$count" "$nodes" "$jobs" "$real"
        for record in "$place"nodes/*.json; do
            [ ! -f "$record" ] || printf '%s\t%s\t%s\t%s\n' "$mark" copy "$real" "$(cat -- "$record")"
        done
    done
}

for agent in .local/share/scratchflow/agent/*/; do
    [ ! -d "$agent" ] || printf '%s\t%s\t%s\n' "$mark" agent "$agent"
done
for entry in .local/share/scratchflow/*; do
    [ ! -e "$entry" ] || printf '%s\t%s\t%s\n' "$mark" entry "${entry##*/}"
done
if [ -d .local/state/scratchflow ]; then
    printf '%s\t%s\t%s\n' "$mark" state .local/state/scratchflow
fi
if [ -e .unison/scratchflow.prf ]; then
    printf '%s\t%s\t%s\n' "$mark" unison scratchflow
elif [ -d .unison ]; then
    printf '%s\t%s\t%s\n' "$mark" unison other
fi
for note in .local/share/scratchflow/stores/*.json; do
    [ ! -f "$note" ] || printf '%s\t%s\t%s\n' "$mark" note "$(cat -- "$note")"
done
number=0
for store in "$@"; do
    expand "$store"
    look "$number" "$replaced"
    number=$((number + 1))
done
