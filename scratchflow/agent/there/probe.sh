# What kind of host this is, and which Pythons it has. Read by `sh -s -- MODULE…`.
# Every line of ours starts with the mark: login shells and modules talk too.
mark=scratchflow-probe
tell() { printf '%s\t%s\t%s\n' "$mark" "$1" "$2"; }

# A startup file that reads our input has taken the first line.
tell first_line "${scratchflow_first_line-}"
tell home "${HOME-}"
tell system "$(uname -s)"
tell machine "$(uname -m)"
df -Pk -- "${HOME:-/}" 2>/dev/null | {
    read -r heading
    read -r device blocks used free rest && tell home_free_kib "$free"
}

# Runs in whatever Python there is, Python 2 included.
SCRATCHFLOW_ASK='
import json, os, platform, sys
def lacks(name):
    try:
        __import__(name)
    except Exception:
        return True
    return False
try:
    import sysconfig
    abi = sysconfig.get_config_var("SOABI") or ""
except Exception:
    abi = ""
print("%s\t%s\t%s" % ("scratchflow-probe", "python", json.dumps({
    "executable": os.path.realpath(sys.executable or ""),
    "version": list(sys.version_info[:3]),
    "implementation": platform.python_implementation(),
    "abi": abi,
    "is_64_bit": sys.maxsize > 2 ** 32,
    "machine": platform.machine(),
    "libc": list(platform.libc_ver()),
    "lacks": [name for name in ("zlib", "fcntl", "select", "hashlib", "threading") if lacks(name)],
    "library_path": os.environ.get("SCRATCHFLOW_LIBRARY_PATH", ""),
})))
'
export SCRATCHFLOW_ASK

# A Python from a module may find its own libraries only through LD_LIBRARY_PATH.
look='
for name in python3.13 python3.12 python3.11 python3.10 python3.14 python3; do
    for path in "$(command -v "$name" 2>/dev/null)" "/usr/bin/$name" "/usr/local/bin/$name" \
        "$HOME/.local/bin/$name" "$HOME/miniforge3/bin/$name" "$HOME/miniconda3/bin/$name"; do
        case $path in /*) ;; *) continue ;; esac
        [ -x "$path" ] || continue
        SCRATCHFLOW_LIBRARY_PATH=
        env -i HOME="$HOME" "$path" -S -c "" >/dev/null 2>&1 </dev/null ||
            SCRATCHFLOW_LIBRARY_PATH=${LD_LIBRARY_PATH-}
        export SCRATCHFLOW_LIBRARY_PATH
        "$path" -E -S -c "$SCRATCHFLOW_ASK" 2>/dev/null </dev/null
    done
done
'
load='
if ! module load "$@" >/dev/null 2>&1 </dev/null; then
    printf "%s\t%s\t%s\n" scratchflow-probe modules_failed "$*"
fi
'
if [ $# -gt 0 ]; then
    bash -l -c "$load$look" bash "$@" </dev/null
fi
eval "$look"
tell end ''
