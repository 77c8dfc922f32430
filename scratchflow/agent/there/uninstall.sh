# Removes every agent of this user. Read by `sh -s`.
# shellcheck shell=sh
cd -- "${HOME:?}" || exit 1
rm -rf -- .local/share/scratchflow/agent
rmdir -- .local/share/scratchflow 2>/dev/null
[ ! -e .local/share/scratchflow/agent ]
