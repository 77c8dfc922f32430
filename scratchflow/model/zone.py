"""A person's time zone as plain numbers, so that it can travel to a machine that is in another one."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import msgspec

_WEEK_S = 7 * 86400
_YEARS_BACK, _YEARS_AHEAD = 5, 1
_YEAR_S = 366 * 86400
_EPOCH = datetime(1970, 1, 1)


class Zone(msgspec.Struct, frozen=True):
    """When which offset from UTC began: `(UTC seconds, seconds east)`, oldest first; empty is UTC.

    The offsets and not the zone's name: the cluster may have no list of time zones, or an old one.
    """

    offsets: tuple[tuple[int, int], ...] = ()

    def offset_at(self, utc_s: float) -> int:
        """Seconds east of UTC at that moment. Before the first entry, that of the first."""
        found = self.offsets[0][1] if self.offsets else 0
        for begin_s, offset_s in self.offsets:
            if begin_s > utc_s:
                break
            found = offset_s
        return found

    def local(self, utc_s: float) -> datetime:
        """What the clock on the wall shows then, as a datetime without a zone."""
        return _EPOCH + timedelta(seconds=utc_s + self.offset_at(utc_s))

    def utc(self, local: datetime, *, first: bool = False) -> float:
        """The moment when the clock on the wall shows `local`, in seconds since 1970.

        Clocks that are set back show a time twice: the later one counts, or with `first` the
        earlier. A time that was skipped is the last minute before, or with `first` the moment when the clock was set.
        """
        wall_s = (local - _EPOCH).total_seconds()
        offsets = {offset_s for _, offset_s in self.offsets} or {0}
        # Only those in force within a day of it: a zone may have had others years ago.
        near = {self.offset_at(wall_s + shift_s) for shift_s in (-86400, 0, 86400)} & offsets or {0}
        moments = [wall_s - offset_s for offset_s in near]
        real = [utc_s for utc_s in moments if self.local(utc_s) == local]
        if not real:
            set_s = next((at_s for at_s, _ in self.offsets if at_s > min(moments)), max(moments))
            return set_s if first else set_s - 60
        return min(real) if first else max(real)


def local_zone(now_s: float | None = None) -> Zone:
    """This machine's zone, as `TZ` or the system says, from five years ago to a year from now."""
    now = int(time.time() if now_s is None else now_s)
    begin_s = now - _YEARS_BACK * _YEAR_S
    offsets = [(begin_s, _offset(begin_s))]
    for week_s in range(begin_s, now + _YEARS_AHEAD * _YEAR_S, _WEEK_S):
        if _offset(week_s + _WEEK_S) != offsets[-1][1]:
            offsets.append(_change_between(week_s, week_s + _WEEK_S))
    return Zone(tuple(offsets))


def _change_between(before_s: int, after_s: int) -> tuple[int, int]:
    """The second in which the offset changes, and what it is from then on."""
    old = _offset(before_s)
    while after_s - before_s > 1:
        middle_s = (before_s + after_s) // 2
        if _offset(middle_s) == old:
            before_s = middle_s
        else:
            after_s = middle_s
    return after_s, _offset(after_s)


def _offset(utc_s: int) -> int:
    try:
        return time.localtime(utc_s).tm_gmtoff
    except (OverflowError, OSError, ValueError):  # a clock that is set to an absurd year
        return 0


def utc_text(utc_s: float) -> str:
    """The moment in full, the same everywhere: `2026-11-15 19:51:40 UTC`."""
    return f"{datetime.fromtimestamp(utc_s, timezone.utc):%Y-%m-%d %H:%M:%S UTC}"
