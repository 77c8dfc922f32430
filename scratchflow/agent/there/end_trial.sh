# Removes the parts of an agent that are only on trial. Read by `sh -s -- NAME`.
# shellcheck shell=sh
# Prints a line of ours if it removed any: login shells talk too.
cd -- "${HOME:?}" || exit 1
cd .local/share/scratchflow/agent 2>/dev/null || exit 0
name=${1:?}
removed=
for part in "$name"/cp*; do
    [ -e "$part/on-trial" ] || continue
    aside=.tmp-trial-$$-0 # as the installation names what it clears away
    mv -- "$part" "$aside" && rm -rf -- "$aside" || exit 1
    removed=yes
done
[ -n "$removed" ] || exit 0
set -- "$name"/cp*
if [ ! -e "$1" ]; then rm -rf -- "$name"; fi
cd .. && rmdir -- agent 2>/dev/null
cd .. && rmdir -- scratchflow 2>/dev/null
printf 'scratchflow-trial\tended\n'
