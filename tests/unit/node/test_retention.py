"""`snapshots prune ID`, `keep` and `unkeep`, as a person uses them."""

from __future__ import annotations

import random

import pytest

from scratchflow.cli import snapshot_words as words
from scratchflow.model.errors.snapshots import LastSnapshot, SnapshotKept, SnapshotMissing
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.events import Log
from scratchflow.model.requests import Mark as MarkRequest
from scratchflow.model.requests import Prune
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import keep_snapshots, prune_snapshots, unkeep_snapshots
from scratchflow.store.retention.marks import Mark, Why, keep, read_marks
from tests.unit.conftest import Desk


def save(desk: Desk, content: str, **options: object) -> str:
    desk.write("work/README", content)
    return desk.backup(**options).snapshot or ""


def test_a_snapshot_is_removed_by_its_id_though_a_rule_keeps_it(desk: Desk) -> None:
    named = save(desk, "one", message="submitted")
    last = save(desk, "two")
    foretold = prune_snapshots(desk.context, desk.notify, Prune(snapshots=(named,), dry_run=True))
    assert foretold.removed == [named]
    assert named in desk.ids
    done = prune_snapshots(desk.context, desk.notify, Prune(snapshots=(named,)))
    assert done.removed == [named]
    assert desk.ids == [last]
    assert verify_snapshots(desk.context, desk.notify, []).bad == []
    assert desk.restore(last, to=desk.scratch / "out").files == 3


@pytest.mark.parametrize("why", ["asked", "shrink"])
def test_a_marked_snapshot_is_not_removed_by_its_id_until_the_mark_is_taken_away(
    desk: Desk, why: Why
) -> None:
    marked, other, last = save(desk, "one"), save(desk, "two"), save(desk, "three")
    keep(desk.place, Mark(snapshot=marked, why=why, time=""))
    for dry_run in (True, False):
        request = Prune(snapshots=(other, marked), dry_run=dry_run)
        with pytest.raises(SnapshotKept) as refused:
            prune_snapshots(desk.context, desk.notify, request)
        assert f"snapshots unkeep {marked}`" in refused.value.shown_hint
    assert desk.ids == [marked, other, last]
    unkeep_snapshots(desk.context, desk.notify, MarkRequest(snapshots=(marked,)))
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(marked,)))
    assert desk.ids == [other, last]


def test_a_removal_says_that_the_next_backup_is_a_full_one(desk: Desk) -> None:
    full, middle, last = save(desk, "one"), save(desk, "two"), save(desk, "three")
    for snapshot, dry_run, expected in (
        (last, True, False),
        (middle, False, False),
        (full, True, True),
        (full, False, True),
    ):
        request = Prune(snapshots=(snapshot,), dry_run=dry_run)
        done = prune_snapshots(desk.context, desk.notify, request)
        assert done.next_is_full is expected
    desk.write("work/README", "four")
    assert desk.backup().kind == "full"


def test_the_last_snapshot_that_can_be_restored_is_not_removed(desk: Desk) -> None:
    first, second = save(desk, "one"), save(desk, "two", full=True)
    desk.place.archive(first).write_bytes(b"damaged")
    with pytest.raises(LastSnapshot):
        prune_snapshots(desk.context, desk.notify, Prune(snapshots=(second,)))
    with pytest.raises(LastSnapshot):
        prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first, second), dry_run=True))
    desk.place.archive(second).write_bytes(b"damaged")
    with pytest.raises(LastSnapshot):
        prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first, second)))
    assert desk.ids == [first, second]


def test_an_unknown_id_removes_nothing(desk: Desk) -> None:
    first = save(desk, "one")
    save(desk, "two")
    with pytest.raises(SnapshotMissing):
        prune_snapshots(
            desk.context, desk.notify, Prune(snapshots=(first, "20200101T000000Z-abcdef"))
        )
    assert first in desk.ids


def test_nothing_is_removed_by_id_while_a_manifest_cannot_be_read(desk: Desk) -> None:
    first, second = save(desk, "one"), save(desk, "two")
    save(desk, "three")
    desk.place.manifest(second).write_bytes(b"{")
    done = prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    assert done.removed == []
    assert second in (done.blocked or "")
    assert first in desk.ids
    save(desk, "four")
    lines = [event.message for event in desk.events if isinstance(event, Log)]
    assert any("no old snapshot was removed" in line and second in line for line in lines)


def test_keep_and_unkeep_set_and_take_the_mark(desk: Desk) -> None:
    first = save(desk, "one")
    options = MarkRequest(snapshots=(first,))
    dry = MarkRequest(snapshots=(first,), dry_run=True)
    assert keep_snapshots(desk.context, desk.notify, dry).changed == [first]
    assert read_marks(desk.place) == {}
    assert keep_snapshots(desk.context, desk.notify, options).changed == [first]
    assert keep_snapshots(desk.context, desk.notify, options).changed == []
    assert read_marks(desk.place)[first].why == "asked"
    assert unkeep_snapshots(desk.context, desk.notify, dry).changed == [first]
    assert unkeep_snapshots(desk.context, desk.notify, options).changed == [first]
    assert unkeep_snapshots(desk.context, desk.notify, options).changed == []
    assert read_marks(desk.place) == {}


def test_unkeep_agrees_to_a_backup_that_shrank(desk: Desk) -> None:
    first = save(desk, "one")
    keep(desk.place, Mark(snapshot=first, why="shrink", time=""))
    assert unkeep_snapshots(desk.context, desk.notify, MarkRequest(snapshots=(first,))).changed == [
        first
    ]


def test_the_list_says_why_a_snapshot_stays(desk: Desk) -> None:
    named = save(desk, "one", message="submitted")
    kept = save(desk, "two")
    keep_snapshots(desk.context, desk.notify, MarkRequest(snapshots=(kept,)))
    desk.write("work/precious", "p")
    safety = desk.restore(named).safety_snapshot or ""
    listed = list_snapshots(desk.context, desk.notify)
    stays = {one.id: one.stays for one in listed.snapshots}
    assert "named" in stays[named]
    assert stays[kept] == ["kept"]
    assert set(stays[safety]) >= {"safety", "fork"}
    lines = list(words.listed(listed))
    assert any(kept[-6:] in line and "[kept" in line for line in lines)


def test_the_list_works_while_marks_cannot_be_read(desk: Desk) -> None:
    save(desk, "one")
    (desk.place.directory / "kept").write_text("not a directory")
    assert len(list_snapshots(desk.context, desk.notify).snapshots) == 1
    assert "snapshots.marks_unreadable" in desk.warnings


def test_a_prune_of_the_only_snapshot_says_that_it_always_stays(desk: Desk) -> None:
    save(desk, "one")
    said = list(words.pruned(prune_snapshots(desk.context, desk.notify, Prune())))
    assert (
        said[-1]
        == "it is the only snapshot, which always stays: no `prune` frees room in this store"
    )


def test_a_prune_that_removes_nothing_names_a_snapshot_that_would_free_space(desk: Desk) -> None:
    save(desk, "one", message="submitted", full=True)
    desk.write("work/data/big.bin", random.Random(2).randbytes(1_100_000))  # noqa: S311 - data
    plain = save(desk, "two", full=True)
    save(desk, "three", full=True)
    for dry_run in (True, False):
        done = prune_snapshots(desk.context, desk.notify, Prune(dry_run=dry_run))
        assert (done.removed, done.spare) == ([], plain)
        said = list(words.pruned(done))[-1]
        assert "every snapshot is kept by a rule" in said
        assert f"; {plain[-6:]} (just now) would free the most, about" in said
    assert done.spare_bytes > 1_100_000
    removed = prune_snapshots(desk.context, desk.notify, Prune(snapshots=(plain,)))
    assert (removed.freed_bytes, removed.spare) == (done.spare_bytes, None)


def test_the_snapshot_that_frees_the_most_is_named_and_not_a_small_one_that_is_older(
    desk: Desk,
) -> None:
    save(desk, "one", full=True)
    desk.write("work/data/big.bin", random.Random(3).randbytes(1_100_000))  # noqa: S311 - data
    large = save(desk, "two", full=True)
    desk.write("work/data/big.bin", random.Random(4).randbytes(900_000))  # noqa: S311 - data
    save(desk, "three", full=True)
    save(desk, "four", full=True)
    assert prune_snapshots(desk.context, desk.notify, Prune()).spare == large


def test_that_the_newest_would_free_more_is_not_denied(desk: Desk) -> None:
    small = {save(desk, "one", full=True), save(desk, "two", full=True)}
    desk.write("work/data/more.bin", random.Random(5).randbytes(1_100_000))  # noqa: S311 - data
    save(desk, "three", full=True)
    done = prune_snapshots(desk.context, desk.notify, Prune())
    assert done.spare in small
    assert done.spare_bytes < 1_100_000
    said = list(words.pruned(done))[-1]
    assert said.endswith("(the newest one, and those named or marked, left aside)")


def test_no_snapshot_is_suggested_that_frees_nothing_or_is_the_last(desk: Desk) -> None:
    save(desk, "one")
    assert prune_snapshots(desk.context, desk.notify, Prune()).spare is None
    save(desk, "two")  # reads the unchanged files from the first
    done = prune_snapshots(desk.context, desk.notify, Prune())
    assert (done.removed, done.spare) == ([], None)
    assert list(words.pruned(done))[-1].endswith(
        "`scratchflow snapshots prune ID` removes one all the same"
    )


def test_the_hint_for_a_full_disk_names_prune_by_id() -> None:
    assert "`scratchflow snapshots prune ID`" in NoSpace(path="/s", reason="full").shown_hint
