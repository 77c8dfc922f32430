# shellcheck shell=bash
# Sourced by lib.sh: running tests as an ordinary user, also when root started them.
#
# Root meets no permission error, so a test that root runs shows nothing about the people who use this.

# The account that root's test runs use. It is made once and owns nothing but its home.
TEST_USER=${SCRATCHFLOW_TEST_USER:-scratchflow-test}

# as_user COMMAND...: as the test user when we are root, else just run.
# TMPDIR is a directory of its own for this run. It stays when the command fails, and goes when it succeeds.
as_user() {
    if [[ $EUID != 0 ]]; then
        "$@"
        return
    fi
    make_test_user
    local code=0 temporary
    temporary=$(mktemp -d /tmp/sf-XXXXXX)
    chown "$TEST_USER:" "$temporary"
    if can_use_checkout; then
        become_user "$temporary" "$@" || code=$?
    else
        # The checkout keeps its path, so that the venv's absolute paths hold, in a private mount namespace.
        # shellcheck disable=SC2016  # the inner shell expands these
        unshare --mount --propagation private \
            bash -c 'set -euo pipefail; . "$0"; open_checkout "$1"; become_user "$@"' "$ROOT/scripts/lib.sh" "$temporary" "$@" || code=$?
    fi
    if [[ $code == 0 ]]; then rm -rf "$temporary"; else echo "temporary files: $temporary" >&2; fi
    return "$code"
}

make_test_user() {
    ! getent passwd "$TEST_USER" >/dev/null || return 0
    need useradd=passwd
    useradd --system --user-group --create-home --home-dir "/var/lib/$TEST_USER" --shell /bin/bash "$TEST_USER"
}

# become_user TEMPORARY COMMAND...: with a home, a PATH and variables that are not root's.
become_user() {
    local temporary=$1 home
    shift
    home=$(getent passwd "$TEST_USER" | cut -d: -f6)
    setpriv --reuid="$TEST_USER" --regid="$TEST_USER" --init-groups \
        env -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_CACHE_HOME -u XDG_RUNTIME_DIR -u SSH_AUTH_SOCK \
        HOME="$home" USER="$TEST_USER" LOGNAME="$TEST_USER" SHELL=/bin/bash TMPDIR="$temporary" \
        PATH="$(path_without_home)" PYTHONDONTWRITEBYTECODE=1 "$@"
}

# path_without_home: PATH without what lies in root's home, which others may not enter.
path_without_home() {
    tr ':' '\n' <<<"$PATH" | grep -v "^${HOME:-/root}\(/\|$\)" | paste -sd:
}

# can_use_checkout: whether the test user can read the checkout and run the Python of the venv.
can_use_checkout() {
    become_user /tmp test -r "$ROOT/pyproject.toml" -a -r "$ROOT/tests/conftest.py" \
        -a -r "$ROOT/scratchflow/__init__.py" -a -x "$VENV/bin/python"
}

# open_checkout TEMPORARY: makes the checkout readable at its own path, in this mount namespace alone.
open_checkout() {
    local copy=$1/checkout top=/
    mkdir "$copy"
    mount -t tmpfs -o mode=755 checkout "$copy"
    # Exit 1: something changed meanwhile, as the extension's files do while it is built beside the tests.
    { tar -C "$ROOT" --exclude=./.git --exclude=./.cache --exclude=node_modules -cf - . || [[ $? == 1 ]]; } |
        tar -C "$copy" -xf - --no-same-owner
    chmod -R go+rX "$copy"
    # The first directory on the way that others may not enter is covered by an empty one.
    while [[ $top != "$ROOT" ]] && become_user /tmp test -x "$top"; do
        local rest=${ROOT#"${top%/}"/}
        top=${top%/}/${rest%%/*}
    done
    if [[ $top != "$ROOT" ]]; then
        mount -t tmpfs -o mode=755 cover "$top"
        (umask 022 && mkdir -p "$ROOT")
    fi
    mount --bind "$copy" "$ROOT"
    cd "$ROOT" || die "cannot enter $ROOT"
}

# python_for_all: a Python that the test user can run too; that of a version manager in root's home is not one.
python_for_all() {
    if [[ -n ${PYTHON:-} || $EUID != 0 ]]; then
        command -v "${PYTHON:-python3}"
        return
    fi
    make_test_user
    local python
    for python in "$(command -v python3)" /usr/bin/python3; do
        if [[ -x $python ]] && become_user /tmp "$python" -c '' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    apt_install python3 python3-venv
    echo /usr/bin/python3
}
