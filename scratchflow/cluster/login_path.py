"""What a login shell adds to the environment, for a process that ssh started without one.

`ssh host command` reads no profile. Many sites put Slurm on the PATH there, and name their storage:
`$SCRATCH`, `$PROJECT`.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Mapping

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, Run
from scratchflow.cluster.this_host import is_on_path

_WANTED = ("PATH", "LD_LIBRARY_PATH", "SLURM_CONF")
_MARK = "scratchflow-environment"
# Whatever a profile prints comes before the mark. The values are the shell's own, never ours.
# Apart by NUL, for a value may hold a newline; by newlines where `env` is that old.
_TELL = f"printf '\\n%s\\n' {_MARK}; sh -c 'env -0 2>/dev/null || env'"
_PROFILE_S = 15.0
# Shells that take `-l` beside `-c`. Others (csh) read the user's file with `-c` alone.
_WITH_LOGIN = ("sh", "bash", "dash", "ksh", "zsh", "fish")


def with_login_path(environment: Mapping[str, str], run: Run) -> dict[str, str]:
    """The environment, with what a login shell adds when Slurm's commands cannot be found without."""
    before = dict(environment)
    if is_on_path("squeue", before.get("PATH", "")):
        return before
    return {**before, **_set_there(["sh", "-l", "-c", _TELL], _WANTED, run)}


def with_login_names(
    environment: Mapping[str, str], names: Collection[str], run: Run, shell: str = ""
) -> dict[str, str]:
    """The environment, with what the user's own login shell has these names set to."""
    if not names:
        return dict(environment)
    return {**environment, **_set_there(_login_shell_argv(shell or users_shell()), names, run)}


def users_shell() -> str:
    """The shell of this account, `/bin/sh` where it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"


def _login_shell_argv(shell: str) -> list[str]:
    takes_login = os.path.basename(shell) in _WITH_LOGIN
    return [shell, *(["-l"] if takes_login else []), "-c", _TELL]


def _set_there(argv: list[str], names: Collection[str], run: Run) -> dict[str, str]:
    """Nothing when the shell does not say."""
    try:
        done = run(argv, _PROFILE_S)
    except (CommandMissing, CommandUnanswered):
        return {}
    said = done.text.rpartition(f"\n{_MARK}\n")[2]
    lines = said.split("\0") if "\0" in said else said.splitlines()
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, equals, value in pairs if equals and name in names and value}
