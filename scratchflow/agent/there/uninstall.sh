# Removes every agent of this user, and our notes beside it. Read by `sh -s`.
# shellcheck shell=sh
cd -- "${HOME:?}" || exit 1
rm -rf -- .local/share/scratchflow/agent .local/share/scratchflow/tmux .local/share/scratchflow/ssh
rmdir -- .local/share/scratchflow 2>/dev/null
[ ! -e .local/share/scratchflow/agent ]
