"""Snapshots and moments as people read them: `570643`, `12 min ago`, `until 20:52 (30 min left)`."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.model.times import epoch
from scratchflow.model.zone import Zone, local_zone, utc_text

SHORT_LENGTH = 6

# Compiled when a text is first shown: few commands show one.
# Not as a part of a longer word, like `ID.json`, `NAME.before-ID` or `run-TIME.log`.
_ALONE = r"(?<![\w./:-])%s(?!\.?[\w/-])"
_ID_IN_TEXT = _ALONE % r"\d{8}T\d{6}Z-([0-9a-f]{6})"
_COMMAND_IN_TEXT = (
    r"`scratchflow ((?:(?:--set|--config|-p) [^\s`]+ )*)(up|status|open|hop|clear|create|backup|restore|autobackup|snapshots"
    r"|allocate|nodes|attach|run|shell|serve|tunnel|submit|jobs|logs|cancel|setup|doctor|config|profiles|sync)\b([^`]*)`"
)
# These are about profiles: `--set` would be written into one there, or be for several.
_ABOUT_PROFILES = frozenset({"setup", "config", "profiles", "sync"})
# The settings that say which workspace is meant, and where it is.
_SAYS_WHICH = frozenset({"workspace", "scratch", "store", "login", "scheduler", "alias"})
# In backticks stands what was typed.
_TIME_IN_TEXT = r"(?<!`)" + _ALONE % r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
# Longer ago, a date says more than a count.
COUNTED_DAYS_S = 60 * 86400
_SOON_S = 100


class Wording:
    """How this process talks, decided once by the command line: `--verbose` shows all of it, in UTC."""

    in_full = False
    # The profile that was named with `-p`: commands in hints name it too, or they would mean another one.
    profile = ""
    # The same for `--config`, and for those of `--set` that choose another workspace.
    config = ""
    overrides: tuple[str, ...] = ()


def overrides_are_saved() -> None:
    """Commands in hints need no `--set` from here on: what it said is in the file."""
    Wording.overrides = ()


def short_id(snapshot: str) -> str:
    """The last six characters of an id, by which every command finds it; anything else as it is."""
    return snapshot[-SHORT_LENGTH:] if is_snapshot_id(snapshot) else snapshot


def shown_id(snapshot: str) -> str:
    """A snapshot in a sentence: short, or whole with `--verbose`."""
    return snapshot if Wording.in_full else short_id(snapshot)


def short_ids(snapshots: Iterable[str]) -> Mapping[str, str]:
    """The name of each in a list: short, or whole where two have the same last six characters."""
    every = list(dict.fromkeys(snapshots))
    count = Counter(map(short_id, every))
    return {one: short_id(one) if count[short_id(one)] == 1 else one for one in every}


def taken_s(snapshot: str) -> float | None:
    """When a snapshot was begun, as its id says; None for what is no id."""
    if not is_snapshot_id(snapshot):
        return None
    day, clock = snapshot[:8], snapshot[9:15]
    return epoch(f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}")


def span(seconds: float) -> str:
    """A length of time with the one unit that matters: `40 s`, `12 min`, `3 h`, `5 days`."""
    whole = max(0, int(seconds))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < 100 * _MINUTE_S:
        return f"{whole // _MINUTE_S} min"
    if whole < 2 * _DAY_S:
        return f"{whole // _HOUR_S} h"
    return f"{whole // _DAY_S} days"


def age(seconds: float) -> str:
    """How long ago: `just now`, `12 min ago`, `5 days ago`."""
    return "just now" if seconds < _MINUTE_S else f"{span(seconds)} ago"


def time_left(seconds: float) -> str:
    """What is left of an allocation: two units, because the second hour is not the third: `2 h 10 min`."""
    whole = max(0, int(seconds))
    hours, minutes = whole // _HOUR_S, whole % _HOUR_S // _MINUTE_S
    if whole < _SOON_S:
        return f"{whole} s"
    if not hours:
        return f"{minutes} min"
    if hours >= 48:
        return f"{whole // _DAY_S} days {hours % 24} h"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def age_at(moment_s: float, now_s: float, zone: Zone | None = None) -> str:
    """The same for a moment: a date when it is long past, or lies in the future, as clocks may have it."""
    passed_s = now_s - moment_s
    if -_MINUTE_S < passed_s < COUNTED_DAYS_S:
        return age(passed_s)
    return wall_time(moment_s, now_s, zone)


def wall_time(moment_s: float, now_s: float, zone: Zone | None = None) -> str:
    """By the clock on the wall, with as much of the date as is needed: `20:52`, `15 Nov 17:40`."""
    zone = zone or here()
    moment, now = zone.local(moment_s), zone.local(now_s)
    clock = f"{moment:%H:%M}"
    if moment.date() == now.date():
        return clock
    day = f"{moment.day} {moment:%b}"
    return f"{day} {clock}" if moment.year == now.year else f"{day} {moment.year} {clock}"


def wall_date(moment_s: float, zone: Zone | None = None) -> str:
    """`15 Nov 2025`."""
    moment = (zone or here()).local(moment_s)
    return f"{moment.day} {moment:%b %Y}"


def until(end_time: str | None, seconds_left: float | None = None) -> str:
    """`until 20:52 (30 min left)`; nothing when no end is known."""
    end_s = epoch(end_time)
    if end_s is None:
        return ""
    now_s = time.time()
    left_s = end_s - now_s if seconds_left is None else seconds_left
    left = f"{time_left(left_s)} left" if left_s > 0 else "over"
    return f"until {_clock_time(end_s, now_s)} ({left})"


def named(snapshot: str) -> str:
    """A snapshot with its age: `570643 (12 min ago)`; without one if its id lies in the future, as clocks may have it."""
    begun_s = taken_s(snapshot)
    if begun_s is None:
        return snapshot
    if begun_s - time.time() > _MINUTE_S:
        return shown_id(snapshot)
    when = utc_text(begun_s) if Wording.in_full else age_at(begun_s, time.time())
    return f"{shown_id(snapshot)} ({when})"


def at(time_text: str | None) -> str | None:
    """A time of a JSON line for people: `20:52`; as it is when it is none."""
    moment_s = epoch(time_text)
    return time_text if moment_s is None else _clock_time(moment_s, time.time())


def _clock_time(moment_s: float, now_s: float) -> str:
    return utc_text(moment_s) if Wording.in_full else wall_time(moment_s, now_s)


def for_people(text: str, now_s: float | None = None, zone: Zone | None = None) -> str:
    """A remark with ids, times and commands as people read and type them; names of files stay as they are."""
    text = for_profile(text)
    if Wording.in_full:
        return text
    text = re.sub(_ID_IN_TEXT, r"\1", text, flags=re.ASCII)

    def wall_time_of(found: re.Match[str]) -> str:
        moment_s = epoch(found[0])
        if moment_s is None:
            return found[0]
        # Asked here alone: what says that the clock cannot be used has no time in it.
        return wall_time(moment_s, time.time() if now_s is None else now_s, zone)

    return re.sub(_TIME_IN_TEXT, wall_time_of, text, flags=re.ASCII)


def for_profile(text: str) -> str:
    """The text with the options in its commands that choose a profile or a workspace, as this one was given them.

    So a command that is typed as it stands means what this one meant.
    """
    if not (Wording.profile or Wording.config or Wording.overrides):
        return text
    return re.sub(_COMMAND_IN_TEXT, _with_options, text)


def naming(text: str, profile: str) -> str:
    """The text with its commands as they are typed for another profile than that of this command."""
    import shlex  # few commands show a hint

    def named(found: re.Match[str]) -> str:
        line = f"{found[1]}{found[2]}{found[3]}"
        if not _takes_profile(line):
            return found[0]
        return f"`scratchflow -p {shlex.quote(profile)} {line}`"

    return re.sub(_COMMAND_IN_TEXT, named, text)


def _with_options(found: re.Match[str]) -> str:
    import shlex  # few commands show a hint

    before, verb, rest = found[1], found[2], found[3]
    line = f"{before}{verb}{rest}"
    options = []
    if Wording.config and "--config" not in line:
        options += ["--config", Wording.config]
    if _takes_profile(line) and Wording.profile:
        options += ["-p", Wording.profile]
    for override in Wording.overrides if verb not in _ABOUT_PROFILES else ():
        key = override.partition("=")[0].strip()
        if key in _SAYS_WHICH and f"--set {key}=" not in line:
            options += ["--set", override]
    if any("`" in option for option in options):  # nobody could tell where the command ends
        return found[0]
    return "`" + " ".join(["scratchflow", *map(shlex.quote, options), line]) + "`"


def _takes_profile(line: str) -> bool:
    """Whether `-p` belongs to this command; a new cluster is never set up under the name of this machine."""
    if re.search(r"(^| )(-p|--profile|--name)\b", line) or line.startswith(("profiles", "sync")):
        return False
    return not (line.startswith("setup") and Wording.profile == "local")


@lru_cache(maxsize=1)
def here() -> Zone:
    """This machine's zone, worked out once."""
    return local_zone()
