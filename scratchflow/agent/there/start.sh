# Starts the scratchflow in this directory, with a Python that this host has.
# shellcheck shell=sh disable=SC2093  # the loop goes on only past a Python that is not there
# Each part is for one Python and machine; its file `python` lists where that Python was found,
# and the library path it needs, if any.
here=${0%/*}
for part in "$here"/cp*-"$(uname -m)"; do
    [ -f "$part/python" ] || continue
    while IFS='	' read -r python library <&3; do
        [ -x "$python" ] || continue
        if [ -n "$library" ]; then
            SCRATCHFLOW_RESTORE_LD_LIBRARY_PATH=${LD_LIBRARY_PATH-}
            LD_LIBRARY_PATH=$library
            export SCRATCHFLOW_RESTORE_LD_LIBRARY_PATH LD_LIBRARY_PATH
        fi
        exec "$python" -I -S "$part/run.py" "$@" 3<&-
    done 3< "$part/python"
done
echo "scratchflow: no agent in $here fits this host" >&2
exit 127
