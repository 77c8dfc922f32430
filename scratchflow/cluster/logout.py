"""Whether this host ends a user's processes when he logs out; `doctor` tells."""

from __future__ import annotations

import re

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, Run

_ASK = ["busctl", "--system", "get-property", "org.freedesktop.login1", "/org/freedesktop/login1"]
_ASK += ["org.freedesktop.login1.Manager", "KillUserProcesses", "KillOnlyUsers", "KillExcludeUsers"]


def logout_kills(run: Run, user: str) -> bool | None:
    """True: logind ends the user's tmux at logout; a `hold = "tmux"` job ends with it.

    None when there is no logind to ask. Lingering does not help: it keeps user services, and tmux
    belongs to the session it was started from.
    """
    try:
        done = run(_ASK, 10.0)
    except (CommandMissing, CommandUnanswered):
        return None
    # `b true`, then two arrays: `as 0`, `as 1 "root"`.
    values = done.text.splitlines()
    if done.returncode != 0 or len(values) != 3:
        return None
    kills, only, excluded = values
    if kills.strip() != "b true" or user in _names(excluded):
        return False
    return not _names(only) or user in _names(only)


def _names(array: str) -> list[str]:
    return re.findall(r'"([^"]*)"', array)
