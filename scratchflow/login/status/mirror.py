"""How far the mirror is behind the store, as `status` shows it. The mirror itself is not asked for it: `doctor` does that."""

from __future__ import annotations

from collections.abc import Iterator

from scratchflow.model.ages import age
from scratchflow.model.results.status import MirrorShown, Problem
from scratchflow.model.text import counted
from scratchflow.model.times import epoch
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.checks.verified import known_damaged
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.mirror import not_there, read_state

MIRROR_BEHIND = "mirror.behind"
# So long a snapshot may be on its way before anybody is warned.
_LATE_S = 3600
_FIX = "`scratchflow snapshots mirror` tries again, and says what is wrong; backups go on meanwhile"

_MEND = "`scratchflow snapshots import --from-mirror --all` mends the damaged ones that the mirror has whole"


def mirror_shown(mirror: str, place: StoreDirectory, catalogue: Catalogue) -> MirrorShown | None:
    """What the store knows of its mirror; None without one."""
    if not mirror:
        return None
    state = read_state(place, mirror)
    damaged = {*catalogue.damaged, *known_damaged(place, catalogue.snapshots)}
    missing = [one for one in not_there(state, catalogue) if one.id not in damaged]
    return MirrorShown(
        mirror=mirror,
        missing=len(missing),
        missing_since=missing[0].time if missing else None,
        looked_time=state.time or None,
        error=state.error or None,
        failing_since=state.failing_since or None,
        damaged=len(damaged),
    )


def mirror_behind(shown: MirrorShown | None, now_s: float) -> Iterator[Problem]:
    """A problem when the last run failed, when snapshots are not there for an hour, or when damaged ones are not sent."""
    if shown is None:
        return
    oldest_s = epoch(shown.missing_since)
    is_late = oldest_s is not None and now_s - oldest_s > _LATE_S
    if shown.error or is_late or shown.damaged:
        fix = f"{_MEND}; {_FIX}" if shown.damaged else _FIX
        yield Problem(name=MIRROR_BEHIND, detail=behind_in_words(shown, now_s), fix=fix)


def behind_in_words(shown: MirrorShown, now_s: float) -> str:
    """How many snapshots are not there, since when, and why, in rclone's words."""
    said = [_missing_in_words(shown, now_s)]
    if shown.damaged:
        are = "are" if shown.damaged > 1 else "is"
        said.append(
            f"{counted(shown.damaged, 'snapshot')} {are} damaged in the store and not sent;"
            " what was sent of that before may be damaged as well"
        )
    if shown.error:
        since = _ago(shown.failing_since, now_s)
        said.append(f"sending failed, first {since}: {shown.error}")
    return "; ".join(said)


def _missing_in_words(shown: MirrorShown, now_s: float) -> str:
    mirror = f"the mirror `{shown.mirror}`"
    if not shown.missing:
        return f"{mirror} has all {'other ' if shown.damaged else ''}snapshots"
    oldest = f"the oldest was taken {_ago(shown.missing_since, now_s)}"
    if not shown.looked_time:
        count = counted(shown.missing, "snapshot")
        return f"nobody has looked yet whether {mirror} has {count} of the store, {oldest}"
    are = "are" if shown.missing > 1 else "is"
    return f"{counted(shown.missing, 'snapshot')} {are} not on {mirror}, {oldest}"


def _ago(time: str | None, now_s: float) -> str:
    at_s = epoch(time)
    return age(max(0, int(now_s - at_s))) if at_s is not None else "at an unknown time"
