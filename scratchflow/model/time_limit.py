"""Time limits as people write them, and as `salloc --time` takes them."""

from __future__ import annotations

import re

from scratchflow.model.units import Duration

FORMS = "`90m`, `8h` or `2d`, or Slurm's own `8:00:00`, `2-12`, or `90` for minutes"
# Slurm: minutes, minutes:seconds, hours:minutes:seconds, and days- before hours.
_SLURM_TIME = re.compile(
    r"(\d+|\d+:\d+|\d+:\d+:\d+|\d+-\d+(:\d+){0,2}|unlimited|infinite)", re.IGNORECASE
)

_WITH_DAYS = re.compile(r"(\d+)-(\d+)(?::(\d+))?(?::(\d+))?", re.ASCII)
_WITHOUT = re.compile(r"(?:(?:(\d+):)?(\d+):(\d+))|(\d+)", re.ASCII)


def time_limit_s(text: str) -> int | None:
    """`90`, `30:00`, `8:00:00`, `2-12`, `2-12:30` in seconds; None for UNLIMITED and the like."""
    if match := _WITH_DAYS.fullmatch(text.strip()):
        days, hours, minutes, rest = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + rest
    match = _WITHOUT.fullmatch(text.strip())
    if match is None:
        return None
    hours, minutes, rest, alone = (int(part or 0) for part in match.groups())
    return (hours * 60 + minutes + alone) * 60 + rest


def in_minutes(text: str) -> str:
    """The limit for people to read: a bare number gets the unit that Slurm takes it in."""
    return f"{text} min" if text.isdecimal() else text


def as_slurm_takes_it(text: str) -> str:
    """`8h` in Slurm's form; what is in that form already, and nothing, as it is. A ValueError names the forms."""
    if not text or _SLURM_TIME.fullmatch(text):
        return text
    try:
        seconds = Duration.parse(text).seconds
    except ValueError:
        seconds = 0
    if not seconds:
        raise ValueError(FORMS)
    return slurm_time(seconds)


def slurm_time(seconds: int) -> str:
    """The same back: `8:00:00`, `2-12:00:00`."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    clock = f"{hours:02}:{rest // 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock
