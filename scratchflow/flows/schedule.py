"""When the auto-backup takes its next snapshot. Values in, values out: no clock, no disk."""

from __future__ import annotations

import msgspec

# Many nodes of one cluster start in the same minute: spread their backups.
JITTER = 0.1
FINAL_MARGIN_S = 120.0
RETRY_S = 60.0


class Schedule(msgspec.Struct, frozen=True):
    """The profile's wishes: an interval, and how long before the end the last backup starts."""

    every_s: float
    final_before_s: float

    def next_regular(self, last_s: float, chance: float) -> float:
        """The next one after `last_s`; `chance` from 0 to 1 moves it forward by up to a tenth."""
        return last_s + self.every_s * (1 - JITTER * chance)

    def final(self, begun_s: float, end_s: float | None, last_duration_s: float) -> float | None:
        """When the last one has to start: early enough to take twice as long as the one before.

        Not in the first half of the time: in a short job it would be no last one.
        """
        if end_s is None:
            return None
        lead_s = max(self.final_before_s, 2 * last_duration_s + FINAL_MARGIN_S)
        return max(end_s - lead_s, (begun_s + end_s) / 2)

    def retry(self, now_s: float) -> float:
        """When to try again after a failure: soon, for the end may be near."""
        return now_s + min(self.every_s, RETRY_S)

    def next_due(
        self, now_s: float, regular_s: float, final_s: float | None, *, final_done: bool
    ) -> float:
        """The nearer of the two. The regular ones go on after the final one, up to the end."""
        if final_s is None or final_done:
            return regular_s
        return min(regular_s, max(final_s, now_s))
