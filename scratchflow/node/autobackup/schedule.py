"""When the auto-backup takes its next snapshot. Values in, values out: no clock, no disk.

Intervals count by the monotonic clock, which nobody can set. The end of the job is a time of day
that Slurm gives; it is converted anew at every look, with the wall clock of that moment.
"""

from __future__ import annotations

from typing import Literal

import msgspec

# Many nodes of one cluster start in the same minute: spread their backups.
JITTER = 0.1
FINAL_MARGIN_S = 120.0
RETRY_S = 60.0
# Two conversions of the same end differ a little: the wall clock is slewed, and durations vary.
_SAME_FINAL_S = 60.0
# The least time before the end that a snapshot on a scratch that goes with the job is begun by the clock.
CLOSING_S = 30.0


Why = Literal["regular", "retry", "final", "closing"]
"""By the interval; again after a failure; the last one before the time limit; one more until that."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One instant by both clocks."""

    wall_s: float
    monotonic_s: float


class Schedule(msgspec.Struct, frozen=True):
    """The profile's settings: an interval, and how long before the end the last backup starts."""

    every_s: float
    final_before_s: float
    # What is not saved when the job ends is gone.
    scratch_goes: bool = False

    def regular_in_s(self, chance: float) -> float:
        """How long until the next one; `chance` from 0 to 1 moves it forward by up to a tenth."""
        return self.every_s * (1 - JITTER * chance)

    def first_in_s(self, newest_age_s: float | None, chance: float) -> float:
        """The same after a start: as if the newest snapshot had been ours, whatever its time says.

        A node that was just restored is not saved at once. Without any snapshot it is.
        """
        if newest_age_s is None:
            return 0.0
        return max(0.0, self.regular_in_s(chance) - max(0.0, newest_age_s))

    def final_in_s(self, left_s: float, elapsed_s: float, last_duration_s: float) -> float:
        """How long until the last one: early enough to take twice as long as the one before.

        Not in the first half of the time: in a short job it would be no last one.
        """
        lead_s = max(self.final_before_s, 2 * last_duration_s + FINAL_MARGIN_S)
        return max(left_s - lead_s, (left_s - elapsed_s) / 2)

    def closing_in_s(self, left_s: float, last_duration_s: float) -> float | None:
        """How long after one near the end the next follows, where scratch goes with the job: half the time left.

        None when that would not be done in time: the signal at the job's end does the rest.
        """
        half_s = left_s / 2
        lead_s = CLOSING_S + 2 * last_duration_s
        return half_s if self.scratch_goes and half_s >= lead_s else None

    def retry_in_s(self) -> float:
        """When to try again after a failure: soon, for the end may be near."""
        return min(self.every_s, RETRY_S)


class Timetable:
    """What is due next in one run of the loop."""

    def __init__(
        self, schedule: Schedule, now: Moment, newest_age_s: float | None, chance: float
    ) -> None:
        self._schedule = schedule
        self._begun_s = now.monotonic_s
        self._regular_s = now.monotonic_s + schedule.first_in_s(newest_age_s, chance)
        self._final_taken_s: float | None = None
        self._taken_s = now.monotonic_s
        self._retries = False

    def wait_s(self, now: Moment, end_s: float | None, last_duration_s: float) -> float:
        """How long until the next one is due; 0 when it is."""
        due_s, _ = self._due(now, end_s, last_duration_s)
        return max(0.0, due_s - now.monotonic_s)

    def why(self, now: Moment, end_s: float | None, last_duration_s: float) -> Why:
        """Why the next one is due when it is."""
        return self._due(now, end_s, last_duration_s)[1]

    def _due(self, now: Moment, end_s: float | None, last_duration_s: float) -> tuple[float, Why]:
        """When the next one is due by the monotonic clock, and why then."""
        # After a failure the retry comes first, also before the final one.
        if self._retries:
            return self._regular_s, "retry"
        final_s = self._final_s(now, end_s, last_duration_s)
        closing_s = self._closing_s(now, end_s, last_duration_s) if final_s is None else None
        early_s = final_s if final_s is not None else closing_s
        if early_s is None or early_s >= self._regular_s:
            return self._regular_s, "regular"
        return early_s, "final" if final_s is not None else "closing"

    def is_final(self, now: Moment, end_s: float | None, last_duration_s: float) -> bool:
        """Whether the last one before the job's end is due."""
        final_s = self._final_s(now, end_s, last_duration_s)
        return final_s is not None and now.monotonic_s >= final_s

    def succeeded(self, now: Moment, chance: float, *, final: bool) -> None:
        """A backup is done. The regular ones go on after the final one, up to the end."""
        self._regular_s = now.monotonic_s + self._schedule.regular_in_s(chance)
        self._retries = False
        self._taken_s = now.monotonic_s
        if final:
            self._final_taken_s = now.monotonic_s

    def failed(self, now: Moment) -> None:
        """A backup failed."""
        self._regular_s = now.monotonic_s + self._schedule.retry_in_s()
        self._retries = True

    def _final_s(self, now: Moment, end_s: float | None, last_duration_s: float) -> float | None:
        """When the last one is due by the monotonic clock; None without an end, and once it is taken.

        When the end moves, or the clock that it was read by was wrong, there is another last one.
        """
        if end_s is None:
            return None
        elapsed_s = now.monotonic_s - self._begun_s
        left_s = end_s - now.wall_s
        final_s = now.monotonic_s + self._schedule.final_in_s(left_s, elapsed_s, last_duration_s)
        taken_s = self._final_taken_s
        return None if taken_s is not None and final_s <= taken_s + _SAME_FINAL_S else final_s

    def _closing_s(self, now: Moment, end_s: float | None, last_duration_s: float) -> float | None:
        """When the next one after the last is due; None without an end."""
        if end_s is None:
            return None
        left_then_s = end_s - now.wall_s + now.monotonic_s - self._taken_s
        closing_in_s = self._schedule.closing_in_s(left_then_s, last_duration_s)
        return None if closing_in_s is None else self._taken_s + closing_in_s
