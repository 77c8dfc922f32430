"""What `status` warns of when it reads the store: lost files, unread files, damaged snapshots. No archive is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scratchflow.archive.tree.root_sizes import RootSize
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import Problem
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import counted
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.checks.verified import Verification, problems_apart
from scratchflow.store.checks.whole import brings_back, newest_whole
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.nodes import NodeRecord
from scratchflow.store.retention.marks import Mark, read_marks
from scratchflow.store.retention.shrink import is_shrunk, size_in_words

_NAMED = 3
_READ_FIRST = (
    "what the backup could not read may be all that it lacks: make that readable (`chmod`, `chown`), then `scratchflow backup`."
    " What is still missing after that, "
)
_FROM_MIRROR = "`scratchflow snapshots import --from-mirror --all` mends what the mirror has whole. If it does not, "

# No circle: `restore` fails, and a workspace of this name is refused while the store has snapshots of it.
_NONE_WHOLE = (
    "no snapshot is known to be whole; `scratchflow restore ID --path PATH --to DIR` brings what is whole of one, if anything is,"
    " and `scratchflow --set workspace=NAME create` makes another workspace to go on in"
)
# Damage is seldom everywhere: what lies elsewhere is readable, and may be nowhere else.
_ONLY_THERE = (
    ", with all that nothing else has (`scratchflow restore ID --path PATH` brings what is whole)"
)


def store_problems(
    place: StoreDirectory,
    records: list[NodeRecord],
    catalogue: Catalogue,
    autobackup: AutobackupShown,
    verified: Mapping[str, Verification],
    *,
    now_s: float,
    has_mirror: bool = False,
    workspace_exists: bool | None = True,
) -> Iterator[Problem]:
    """The problems that the store shows, worst first."""
    instead = _instead(catalogue, verified, now_s, workspace_exists=workspace_exists)
    yield from _damaged(catalogue, verified, _FROM_MIRROR if has_mirror else "", instead)
    unsaved = list(_unsaved(catalogue.newest_readable, autobackup, records))
    yield from _shrunk(catalogue, read_marks(place), perhaps_unread=bool(unsaved))
    yield from unsaved


def _instead(
    catalogue: Catalogue,
    verified: Mapping[str, Verification],
    now_s: float,
    *,
    workspace_exists: bool | None,
) -> str:
    """What makes up for a damaged snapshot: the workspace, or where there is none, an older one; empty without either."""
    again = "`scratchflow backup --full` stores everything that is there now once more"
    if workspace_exists:
        return again
    whole = newest_whole(catalogue, verified)
    back = brings_back(whole, now_s) if whole else ""
    if workspace_exists is False:
        return back
    return f"on a node that has the workspace, {again}{'; elsewhere, ' if back else ''}{back}"


def _damaged(
    catalogue: Catalogue, verified: Mapping[str, Verification], first: str, instead: str
) -> Iterator[Problem]:
    problems = problems_apart(catalogue, verified)
    every = {**problems.damaged, **problems.perhaps}
    whole = newest_whole(catalogue, verified)
    for one in catalogue.snapshots:
        found = verified.get(one.id)
        if found and found.is_doubtful and one.id not in every:
            yield Problem(
                name="snapshots.doubtful",
                detail=f"an earlier scratchflow found snapshot {one.id} damaged ({_said(one.id, found.problem)});"
                " it cannot read every archive that this one reads, so the snapshot may be whole",
                fix=f"`scratchflow snapshots verify {one.id}` says whether it is",
            )
    for problem, snapshots in _by_problem(problems.damaged).items():
        is_one = len(snapshots) == 1
        are, them = ("is", "it") if is_one else ("are", "them")
        which = f"{'snapshot' if is_one else 'snapshots'} {_few(snapshots)}"
        way_out = f"{instead}; after that {_removes(snapshots)}" if instead else _NONE_WHOLE
        if whole and whole.kind == "full" and whole.id > max(snapshots):
            way_out = f"snapshot {whole.id} has stored everything anew since; {_removes(snapshots)}"
        yield Problem(
            name="snapshots.damaged",
            detail=f"{which} {are} damaged: {_said(snapshots[0], problem)}",
            fix=f"{first}{way_out}. Another profile's store that has {them} whole mends {them} by `snapshots copy`",
        )
    for problem, snapshots in _by_problem(problems.perhaps).items():
        yield _perhaps_whole(snapshots, problem)


def _perhaps_whole(snapshots: list[str], problem: str) -> Problem:
    """Nothing to remove yet: what they read of a damaged archive may be whole."""
    which = f"{'snapshot' if len(snapshots) == 1 else 'snapshots'} {_few(snapshots)}"
    named = " ".join(snapshots) if len(snapshots) <= _NAMED else ""
    return Problem(
        name="snapshots.doubtful",
        detail=f"{which} may be damaged: {problem}",
        fix=f"`{f'scratchflow snapshots verify {named}'.rstrip()}` says whether what they read of it is whole",
    )


def _removes(snapshots: list[str]) -> str:
    if len(snapshots) > _NAMED:
        return f"`scratchflow snapshots prune ID…` removes those that `scratchflow snapshots list` calls DAMAGED{_ONLY_THERE}"
    ones = "the damaged one" if len(snapshots) == 1 else "the damaged ones"
    return f"`scratchflow snapshots prune {' '.join(snapshots)}` removes {ones}{_ONLY_THERE}"


def _by_problem(problems: Mapping[str, str]) -> dict[str, list[str]]:
    """The snapshots by what is wrong, the oldest first: several may need the same archive."""
    found: dict[str, list[str]] = {}
    for snapshot in sorted(problems):
        found.setdefault(problems[snapshot], []).append(snapshot)
    return found


def _few(names: Sequence[str], count: int = 0) -> str:
    """The first ones, and how many more there are."""
    shown, every = names[:_NAMED], max(count, len(names))
    more = [f"{every - len(shown):,} more"] if every > len(shown) else []
    return ", ".join([*shown, *more])


def _said(snapshot: str, problem: str) -> str:
    """What was found, without saying twice that it is damaged."""
    return problem.removeprefix(f"snapshot `{snapshot}` is damaged: ")


def _shrunk(
    catalogue: Catalogue, marks: Mapping[str, Mark], *, perhaps_unread: bool
) -> Iterator[Problem]:
    """The newest snapshot that is kept because a smaller one came after it, while that is still so.

    What the last backup could not read may be all that is missing: then it is there, and a restore is refused.
    """
    latest = catalogue.newest_readable
    kept = [one for one in catalogue.snapshots if one.id in marks]
    kept = [one for one in kept if marks[one.id].why == "shrink"]
    if not kept or latest is None:
        return
    before = kept[-1]
    was, now = RootSize(before.files, before.bytes), RootSize(latest.files, latest.bytes)
    if not latest.shrunk and not is_shrunk(was, now):
        return
    # Only while the smaller one is the newest is the root that shrank the whole story.
    of_root = marks[before.id].detail if latest.shrunk else ""
    in_all = f"{size_in_words(now)} instead of {size_in_words(was)}"
    first = _READ_FIRST if perhaps_unread else ""
    yield Problem(
        name="backup.shrunk",
        detail=f"the last backup holds far less than one before it: {of_root or in_all}",
        fix=f"{first}`scratchflow restore {before.id}` brings {'' if first else 'them '}back,"
        f" `scratchflow snapshots unkeep {before.id}` agrees",
    )


def _unsaved(
    latest: Manifest | None, autobackup: AutobackupShown, records: list[NodeRecord]
) -> Iterator[Problem]:
    """What the last backup could not read, as the auto-backup, the node's record or the manifest says.

    A backup that finds nothing else to save takes no snapshot: then only the record knows.
    """
    count, paths = autobackup.unsaved, autobackup.unsaved_paths
    if not (count and autobackup.enabled and autobackup.last_time) and latest is not None:
        of_latest = [one for one in records if one.snapshot == latest.id]
        last = max(of_latest, key=lambda one: one.time, default=latest)
        count, paths = last.unsaved, last.unsaved_paths
    if not count:
        return
    names = f": {_few([f'`{path}`' for path in paths], count)}" if paths else ""
    yield Problem(
        name="backup.unsaved",
        detail=f"the last backup could not read {counted(count, 'path')}{names}",
        fix="make them readable (`chmod`, `chown`), delete them, or exclude them with `backup.exclude`",
    )
