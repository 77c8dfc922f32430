"""When the workspace was last saved, and whether that is too long ago, as `status` shows it."""

from __future__ import annotations

from scratchflow.model.allocation import HELD, Allocation
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import SavedShown, SnapshotsShown
from scratchflow.model.times import epoch
from scratchflow.store.nodes import NodeRecord

# A backup that is under way when the interval is over is not late.
_INTERVALS = 2


def saved_shown(
    snapshots: SnapshotsShown,
    autobackup: AutobackupShown,
    record: NodeRecord | None,
    held: Allocation | None,
    now_s: float,
) -> SavedShown | None:
    """The last backup of the node's copy, whether or not it found anything to store; else the last snapshot.

    `record` is that of the node; `held` is the job whose node has the workspace, None where there is nothing to lose.
    """
    is_equal = record is not None and record.dirty is False and not record.restoring
    times = [snapshots.last_time, autobackup.last_time, record.time if record and is_equal else ""]
    known = [(when_s, when) for when in times if when and (when_s := epoch(when)) is not None]
    if not known:
        return None
    last_s, last = max(known)
    age_s = max(0, int(now_s - last_s))
    return SavedShown(time=last, age_s=age_s, late=_is_late(age_s, autobackup, held))


def _is_late(age_s: int, autobackup: AutobackupShown, held: Allocation | None) -> bool:
    if held is None or held.state not in HELD:
        return False
    if autobackup.enabled and (autobackup.overdue or autobackup.last_error):
        return True
    # A machine of one's own is not given back: there only an auto-backup that fails is worth an alarm.
    return held.job_id is not None and age_s > _INTERVALS * autobackup.every_s
