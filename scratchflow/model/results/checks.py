"""`doctor`: what was looked at, and what mends it."""

import msgspec

from scratchflow.model.results.base import Result


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; `fix` is the one line that mends it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


class ChecksDone(Result, frozen=True):
    """What an agent found out about its host. `mended` is what `doctor --fix` did before."""

    checks: list[Check]
    mended: list[str] = []
