"""Moments as people write them: `yesterday`, `2 hours ago`, `14:30`, `15 Nov 17:40`.

Nothing here is part of a snapshot's id, so a text is one or the other, never both.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import msgspec

from scratchflow.model.units import Duration
from scratchflow.model.zone import Zone

_UNITS_S = {
    1: ("s", "sec", "secs", "second", "seconds"),
    60: ("m", "min", "mins", "minute", "minutes"),
    3600: ("h", "hr", "hrs", "hour", "hours"),
    86400: ("d", "day", "days"),
    604800: ("w", "week", "weeks"),
}
_SECONDS = {word: seconds for seconds, words in _UNITS_S.items() for word in words}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_AGO = re.compile(r"(\d{1,9}|an?|one)\s*([a-z]+) ago", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([ap])m)?", re.ASCII)
_ISO_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_DAY_MONTH = re.compile(r"(\d{1,2}) ([a-z]{3,9})(?: (\d{4}))?", re.ASCII)
_MONTH_DAY = re.compile(r"([a-z]{3,9}) (\d{1,2})(?:,? (\d{4}))?", re.ASCII)
_DAY_AND_CLOCK = re.compile(r"(?P<day>.*?)(?:(?:^|[ t]| at )(?P<clock>\d{1,2}:\d.*))?", re.ASCII)

EXAMPLES = '`yesterday`, `"2 hours ago"`, `14:30`, `2026-11-15`, `"15 Nov 17:40"`'


class Moment(msgspec.Struct, frozen=True):
    """What a text means: one second, or all those of a minute or a day, the first and the last."""

    since_s: float
    until_s: float
    is_day: bool = False


def read_moment(text: str, now_s: float, zone: Zone) -> Moment | None:
    """The moment that a person means by it now, by the clock on their wall; None for anything else.

    A day stands for all of it, a minute for all its seconds. A time without a day is the last one
    that has passed. ValueError, with the reason, for a day or time that does not exist.
    """
    words = " ".join(text.lower().split())
    if words.endswith(" ago"):
        return _ago(words, now_s)
    try:
        return _day_and_clock(words, now_s, zone)
    except OverflowError:
        raise ValueError(f"`{text}` is out of range") from None


def _ago(words: str, now_s: float) -> Moment | None:
    match = _AGO.fullmatch(words)
    if match and match[2] in _SECONDS:
        count = int(match[1]) if match[1].isdigit() else 1
        return _second(now_s - count * _SECONDS[match[2]])
    try:
        return _second(now_s - Duration.parse(words.removesuffix(" ago")).seconds)
    except ValueError:
        return None


def _second(moment_s: float) -> Moment:
    return Moment(moment_s, moment_s)


def _day_and_clock(words: str, now_s: float, zone: Zone) -> Moment | None:
    today = zone.local(now_s).replace(hour=0, minute=0, second=0, microsecond=0)
    is_utc = bool(_ISO_DAY.match(words)) and words.endswith(("z", " utc"))
    if is_utc:
        words, zone = words.removesuffix("z").removesuffix("utc").strip(), Zone()
    match = _DAY_AND_CLOCK.fullmatch(words)
    day_words = match["day"].strip() if match else words
    clock_words = match["clock"] if match else None
    if clock_words is None:
        day = _day(day_words, today)
        return _whole_day(day, zone) if day else None
    clock = _CLOCK.fullmatch(clock_words)
    if clock is None:
        return None
    if day_words.removesuffix("at") == "":
        return _last_time_of_day(clock, today, now_s, zone)
    day = _day(day_words.removesuffix(" at"), today)
    return _at(day, clock, zone) if day else None


def _whole_day(day: datetime, zone: Zone) -> Moment:
    after_s = zone.utc(day + timedelta(days=1), first=True)
    return Moment(zone.utc(day, first=True), after_s - 1, is_day=True)


def _last_time_of_day(clock: re.Match[str], today: datetime, now_s: float, zone: Zone) -> Moment:
    """Today's, or while that has not come yet, yesterday's."""
    moment = _at(today, clock, zone)
    return moment if moment.since_s <= now_s else _at(today - timedelta(days=1), clock, zone)


def _at(day: datetime, clock: re.Match[str], zone: Zone) -> Moment:
    hour, minute = int(clock[1]), int(clock[2])
    if clock[4] and not 1 <= hour <= 12:
        raise ValueError(f"`{clock[0]}` is no time of day")
    if clock[4]:
        hour = hour % 12 + (12 if clock[4] == "p" else 0)
    # Lists show no seconds: whoever copies a time from one means the snapshot beside it.
    length_s = 60 if clock[3] is None else 1
    try:
        wall = day.replace(hour=hour, minute=minute, second=int(clock[3] or 0))
    except ValueError:
        raise ValueError(f"`{clock[0]}` is no time of day") from None
    since_s = zone.utc(wall)
    return Moment(since_s, since_s + length_s - 1)


def _day(words: str, today: datetime) -> datetime | None:
    """The beginning of the day that is meant, by the clock on the wall."""
    near = {"today": 0, "yesterday": 1}
    if words in near:
        return today - timedelta(days=near[words])
    if weekday := _weekday(words.removeprefix("last ")):
        # Strictly before today: on a Monday, `monday` is a week ago, and today is `today`.
        return today - timedelta(days=(today.weekday() - weekday) % 7 + 1)
    if match := _ISO_DAY.fullmatch(words):
        return _date(int(match[1]), int(match[2]), int(match[3]), words)
    if match := _DAY_MONTH.fullmatch(words):
        return _of_month(match[1], match[2], match[3], today, words)
    if match := _MONTH_DAY.fullmatch(words):
        return _of_month(match[2], match[1], match[3], today, words)
    return None


def _weekday(words: str) -> int | None:
    """Monday is 1. Three letters are enough."""
    if len(words) < 3:
        return None
    names = (number for number, name in enumerate(_WEEKDAYS, 1) if name.startswith(words))
    return next(names, None)


def _of_month(
    day: str, month_word: str, year: str | None, today: datetime, words: str
) -> datetime | None:
    """Without a year the last such day that has begun."""
    if month_word[:3] not in _MONTHS:
        return None
    month = _MONTHS.index(month_word[:3]) + 1
    found = _date(int(year or today.year), month, int(day), words)
    if year is None and found > today:
        return _date(today.year - 1, month, int(day), words)
    return found


def _date(year: int, month: int, day: int, words: str) -> datetime:
    try:
        return datetime(year, month, day)
    except ValueError:
        raise ValueError(f"`{words}` is not in the calendar") from None
