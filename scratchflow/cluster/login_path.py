"""The PATH of a login shell, for a process that ssh started without one.

`ssh host command` reads no profile, and many sites put Slurm on the PATH there.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, Run

_WANTED = ("PATH", "LD_LIBRARY_PATH", "SLURM_CONF")
_MARK = "scratchflow-environment"
# Whatever a profile prints comes before the mark. The values are the shell's own, never ours.
_TELL = f"printf '\\n%s\\n' {_MARK}; env"
_PROFILE_S = 15.0


def with_login_path(environment: Mapping[str, str], run: Run) -> dict[str, str]:
    """The environment, with what a login shell adds when Slurm's commands cannot be found without."""
    before = dict(environment)
    if shutil.which("squeue", path=before.get("PATH")):
        return before
    try:
        done = run(["sh", "-l", "-c", _TELL], _PROFILE_S)
    except (CommandMissing, CommandUnanswered):
        return before
    return {**before, **_parse_environment(done.text)}


def _parse_environment(text: str) -> dict[str, str]:
    lines = text.rpartition(f"\n{_MARK}\n")[2].splitlines()
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, equals, value in pairs if equals and name in _WANTED and value}
