"""`USR1@120`: which signal a job's command gets, and how many seconds before the time limit."""

from __future__ import annotations

import re

import msgspec

FORMS = "a signal and seconds before the time limit, like `USR1@120`"
USUAL_S = 120
NAMES = ("USR1", "USR2", "TERM", "INT", "HUP")
"""What a command can do something about, and what `srun` passes on."""

_MOST_S = 65535  # sbatch takes no more
_TEXT = re.compile(r"(?:SIG)?([A-Z0-9]+)(?:@(\d{1,5}))?", re.ASCII)


class EarlySignal(msgspec.Struct, frozen=True):
    """The name without `SIG`; `seconds` are at least what is left until the time limit then."""

    name: str = "USR1"
    seconds: int = USUAL_S

    def __str__(self) -> str:
        return f"{self.name}@{self.seconds}"


def early_signal(text: str) -> EarlySignal:
    """What people typed; a ValueError says how it is written."""
    match = _TEXT.fullmatch(text.strip().upper())
    seconds = int(match[2] or USUAL_S) if match else 0
    if not match or match[1] not in NAMES:
        raise ValueError(f"{FORMS}; the signal is one of {', '.join(NAMES)}")
    if not 1 <= seconds <= _MOST_S:
        raise ValueError(f"{FORMS}, from 1 to {_MOST_S}")
    return EarlySignal(match[1], seconds)
