"""When a reason that never goes away is believed: Slurm may show one that the job does not have.

Slurm 23.11 and 24.05 without an accounting database show a healthy waiting job with `Resources`, `InvalidAccount`
and `None` in turn. So a reason has to stand for a while, and longer where another one contradicts it.
"""

from __future__ import annotations

from scratchflow.cluster.slurm.reasons import explain

STANDS_S = 3.0
STANDS_AFTER_ANOTHER_S = 60.0
"""How long a reason has to stand once the same job waited for something that clears."""

# Slurm has not looked at the job yet: this contradicts nothing.
_NOTHING_YET = {"", "None"}


class Doubt:
    """What one job's reasons were, and since when the present one stands."""

    def __init__(self) -> None:
        self._reason = ""
        self._since_s = 0.0
        self._could_clear = False

    def believes(self, reason: str, now_s: float) -> bool:
        """Whether the reason has stood long enough; to be told at each look, by a monotonic clock."""
        if reason != self._reason:
            self._reason, self._since_s = reason, now_s
        if reason not in _NOTHING_YET and explain(reason).permanence == "clears":
            self._could_clear = True
        stands_s = STANDS_AFTER_ANOTHER_S if self._could_clear else STANDS_S
        return now_s - self._since_s >= stands_s
