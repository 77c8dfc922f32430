"""`snapshots copy`: what is in the other store afterwards restores as it was; whatever happens, each store is whole."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from scratchflow.cli.transfer_words import copied
from scratchflow.flows.transfer import copy as module
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.snapshots import DamagedAtSource, SnapshotDamaged
from scratchflow.model.errors.store import EmptyStoreFull, NoSpace
from scratchflow.model.errors.transfer import (
    CopyBroken,
    CopyToItself,
    CopyUnderWay,
    InTheWay,
    WorkspaceNamedOtherwise,
)
from scratchflow.model.events import Progress
from scratchflow.model.requests import ArchiveOf, Mark, Offer, Prune, Settle
from scratchflow.model.snapshot import Manifest, checked_manifest, encode_manifest
from scratchflow.model.units import format_size
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import keep_snapshots, prune_snapshots
from scratchflow.node.settle import settle
from scratchflow.node.transfer.copy import offer
from scratchflow.node.transfer.here import adopt_whole
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import forget_verified, known_damaged
from scratchflow.store.commit.arriving import Arriving, _alone
from scratchflow.store.retention.marks import read_marks
from scratchflow.testing.store import as_earlier
from tests.unit.conftest import Desk
from tests.unit.flows.transfer.conftest import Two, rot


@pytest.mark.slow
def test_all_of_them_arrive_and_nothing_is_sent_twice(two: Two) -> None:
    done = two.copy()
    assert done.copied == two.here.ids == two.there.ids
    assert done.newest == two.here.ids[-1]
    stored = sum(two.here.place.archive(one).stat().st_size for one in two.here.ids)
    assert done.sent_bytes == stored
    last = [one for one in two.events if isinstance(one, Progress) and one.bytes_total][-1]
    assert last.bytes_done == last.bytes_total == stored
    for one in two.here.ids:
        two.require_same(one)
    again = two.copy()
    assert (again.copied, again.already_there, again.sent_bytes) == ([], two.here.ids, 0)
    assert list(copied(again)) == ["profile `there` has all of them already"]


@pytest.mark.slow
def test_one_brings_the_chain_that_it_needs_and_no_more(two: Two) -> None:
    done = two.copy("latest")
    full, between, last = two.here.ids
    assert (done.copied, done.along, two.there.ids) == ([last], [full], [full, last])
    assert f"with the full snapshot {full[-6:]}" in "".join(copied(done))
    two.require_same(last)
    two.require_same(full)
    rest = two.copy()
    assert rest.copied == [between]
    assert two.there.ids == two.here.ids
    assert rest.sent_bytes == 0  # all archives were there: only manifests moved


@pytest.mark.slow
@pytest.mark.parametrize("removed", [[], [1], [0, 1]])
def test_an_older_snapshot_there_is_no_fork_though_those_between_were_not_copied(
    two: Two, removed: list[int]
) -> None:
    first, *between, last = two.here.ids
    two.copy(first)
    two.here.write("work/changes", "again")
    two.here.backup()
    newest = two.here.ids[-1]
    ids = [first, *between, last]
    if removed:
        asked = Prune(snapshots=tuple(ids[number] for number in removed))
        prune_snapshots(two.here.context, two.here.notify, asked)
    two.copy("latest")
    assert two.there.ids == [first, newest]
    rows = list_snapshots(two.there.context, two.there.notify).snapshots
    assert [(row.id, row.fork, "fork" in row.stays) for row in rows] == [
        (first, False, False),
        (newest, False, False),
    ]
    assert two.copy(last).blocked == []  # one between
    rows = list_snapshots(two.there.context, two.there.notify).snapshots
    assert [row.id for row in rows if row.fork or "fork" in row.stays] == []


@pytest.mark.slow
def test_a_workspace_there_goes_on_with_a_later_snapshot_without_those_between(two: Two) -> None:
    first, newest = two.here.ids[0], two.here.ids[-1]
    two.copy(first)
    two.there.restore(first)
    two.copy("latest")
    assert two.there.ids == [first, newest]
    done = settle(two.there.context, two.there.notify, Settle(snapshot=newest))
    assert (done.action, done.snapshot) == ("restored", newest)
    assert two.there.content() == two.here.content()


@pytest.mark.parametrize("gone", [False, True])
def test_those_of_earlier_versions_are_copied_by_their_own_kind_of_digest(
    two: Two, *, gone: bool
) -> None:
    first, second, last = two.here.ids
    for one in (first, second):
        as_earlier(two.here.place, one)
    if gone:  # so that the digest in its footer is all that is known of the first archive
        prune_snapshots(two.here.context, two.here.notify, Prune(snapshots=(first,)))
    two.copy()
    assert two.there.ids == two.here.ids
    for one in two.here.ids:
        two.require_same(one)
    assert two.copy().sent_bytes == 0
    rot(two.there.place.archive(first))
    assert verify_snapshots(two.there.context, two.there.notify, []).bad
    two.copy()
    two.require_same(last)


def test_a_dry_run_says_how_much_and_changes_nothing(two: Two) -> None:
    done = two.copy(dry_run=True)
    assert done.sent_bytes == sum(
        two.here.place.archive(one).stat().st_size for one in two.here.ids
    )
    assert not two.there.place.directory.exists()
    (line,) = copied(done)
    assert line.startswith("would copy 3 snapshots (")


@pytest.mark.parametrize("dry_run", [False, True])
def test_without_room_for_all_that_would_come_nothing_is_begun(
    two: Two, monkeypatch: pytest.MonkeyPatch, *, dry_run: bool
) -> None:
    sizes = [two.here.place.archive(one).stat().st_size for one in two.here.ids]
    room_bytes = sum(sizes) - 1
    monkeypatch.setattr("scratchflow.node.transfer.copy.room_bytes", lambda _: room_bytes)
    with pytest.raises(EmptyStoreFull) as caught:
        two.copy(dry_run=dry_run)
    needed, free = format_size(sum(sizes)), format_size(room_bytes)
    assert f"{needed} would come, and there is room for {free}" in str(caught.value)
    assert str(two.there.place.directory) in str(caught.value)
    assert not two.there.place.directory.exists()
    two.copy(two.here.ids[0])
    two.copy(dry_run=dry_run)


def cut_after(byte_count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link dies when so much has gone over it."""
    real = module._Copy._counted

    def counted(self: module._Copy, pieces: object) -> Iterator[bytes]:
        for piece in real(self, pieces):  # type: ignore[arg-type]  # passed on
            if self.sent > byte_count:
                raise StreamBroken(reason="the link is gone")
            yield piece

    monkeypatch.setattr(module._Copy, "_counted", counted)


@pytest.mark.parametrize("byte_count", [0, 300_000, 1_000_000, 1_500_000])
@pytest.mark.slow
def test_a_broken_copy_goes_on_where_it_ended(
    two: Two, byte_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = two.copy(dry_run=True).sent_bytes
    with monkeypatch.context() as patch:
        cut_after(byte_count, patch)
        with pytest.raises(CopyBroken, match="the link is gone"):
            two.copy()
    for one in two.there.ids:
        two.require_same(one)
    left = two.copy(dry_run=True).sent_bytes
    assert left <= whole - byte_count + (1 << 18)
    assert two.copy().sent_bytes == left
    for one in two.here.ids:
        two.require_same(one)


def test_what_an_earlier_run_left_is_thrown_away_when_it_is_no_beginning(two: Two) -> None:
    first = two.here.ids[0]
    two.there.backup()
    two.there.place.arriving.mkdir()
    (two.there.place.arriving / f"{first}.part").write_bytes(b"x" * 1000)
    two.copy(first)
    two.require_same(first)


def test_one_that_is_all_there_and_was_not_looked_at_yet_is_looked_at(two: Two) -> None:
    """Killed between the last byte and the name."""
    first = two.here.ids[0]
    two.there.backup()
    two.there.place.arriving.mkdir()
    part = two.there.place.arriving / f"{first}.part"
    part.write_bytes(two.here.place.archive(first).read_bytes())
    assert two.copy(first).sent_bytes == 0
    two.require_same(first)


@pytest.mark.parametrize("where", [0.3, 0.99])
def test_a_damaged_archive_is_not_taken(two: Two, where: float) -> None:
    archive = two.here.place.archive(two.here.ids[0])
    content = bytearray(archive.read_bytes())
    content[int(len(content) * where)] ^= 1
    archive.chmod(0o600)
    archive.write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        two.copy(two.here.ids[0])
    assert two.there.ids == []
    assert list(two.there.place.arriving.glob("*")) == []


def test_a_damaged_archive_is_said_to_be_that_of_the_source(two: Two) -> None:
    damaged = two.here.ids[0]
    rot(two.here.place.archive(damaged))
    with pytest.raises(DamagedAtSource) as caught:
        two.copy(damaged)
    assert "damaged in the store of profile `here`" in str(caught.value)
    assert f"`{damaged}.tar.lz4` does not match the digest in its manifest" in str(caught.value)
    assert "`scratchflow -p here snapshots verify`" in caught.value.shown_hint
    # All of them need it, and `status` says so from now on.
    assert known_damaged(two.here.place, read_catalogue(two.here.place).snapshots) == set(
        two.here.ids
    )


@pytest.mark.parametrize("where", [0.0, 0.5, 0.9999])
def test_a_damaged_archive_whose_manifest_is_gone_is_not_taken(two: Two, where: float) -> None:
    first, second, third = two.here.ids
    two.here.place.manifest(first).unlink()
    rot(two.here.place.archive(first), where)
    with pytest.raises(SnapshotDamaged, match=f"`{first}.tar.lz4`"):
        two.copy(third)
    assert two.there.ids == []
    done = two.copy()
    assert (done.copied, done.damaged) == ([], [second, third])
    assert done.exit_code() == SnapshotDamaged.exit_code
    assert two.there.ids == []
    assert list(two.there.place.arriving.glob(f"{first}*")) == []


def test_an_archive_whose_manifest_is_gone_is_taken_up_in_its_middle(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _, third = two.here.ids
    two.here.place.manifest(first).unlink()
    whole = two.copy(third, dry_run=True).sent_bytes
    with monkeypatch.context() as patch:
        cut_after(300_000, patch)
        with pytest.raises(CopyBroken):
            two.copy(third)
    assert two.copy(third).sent_bytes < whole - 200_000
    two.require_same(third)


def test_one_that_lacks_an_archive_is_named_and_the_others_go(two: Two) -> None:
    lost = two.here.ids[1]
    two.here.place.archive(lost).unlink()
    done = two.copy()
    assert lost in done.damaged
    assert done.copied == two.there.ids
    assert set(done.copied).isdisjoint(done.damaged)
    assert any("not copied, because it is damaged" in line for line in copied(done))
    with pytest.raises(SnapshotDamaged):
        two.copy(lost)


@pytest.mark.slow
def test_an_archive_of_that_name_that_is_another_one_is_left_alone(two: Two) -> None:
    """What is left of an archive whose snapshot is gone differs from store to store: then all comes in one."""
    two.copy()
    first, _, third = two.there.ids
    for one in (first, third):
        two.there.place.manifest(one).unlink()
    other = two.there.place.archive(first)
    other.chmod(0o600)
    other.write_bytes(b"something else")
    two.there.place.archive(third).unlink()
    foretold = two.copy(third, dry_run=True)
    assert foretold.as_full_bytes > 2_000_000
    assert "and up to 2" in "".join(copied(foretold))
    assert "after `scratchflow backup --full` later copies send only" in "".join(copied(foretold))
    done = two.copy(third)
    assert done.copied == [third]
    assert other.read_bytes() == b"something else"
    ours, theirs = two.directory / "ours", two.directory / "theirs"
    two.here.restore(third, to=ours)
    two.there.restore(third, to=theirs)
    assert two.here.content(ours) == two.here.content(theirs)


def test_one_of_which_the_other_store_holds_a_part_is_named_and_nothing_is_overwritten(
    two: Two,
) -> None:
    two.copy()
    first = two.there.ids[0]
    two.there.place.manifest(first).unlink()
    archive = two.there.place.archive(first)
    archive.chmod(0o600)
    archive.write_bytes(b"what is left")
    done = two.copy()
    assert (done.copied, done.blocked) == ([], [first])
    assert archive.read_bytes() == b"what is left"
    assert any("has another archive under the name of snapshot" in line for line in copied(done))


@pytest.mark.slow
def test_what_is_known_to_be_damaged_there_is_sent_again_and_mends_all_that_need_it(
    two: Two,
) -> None:
    two.copy()
    archive = two.there.place.archive(two.there.ids[0])
    rot(archive)
    assert verify_snapshots(two.there.context, two.there.notify, []).bad
    two.here.write("work/next", "1")
    two.here.backup()
    done = two.copy()
    assert done.copied == two.here.ids
    assert done.mended == two.here.ids[:-1]
    assert known_damaged(two.there.place, read_catalogue(two.there.place).snapshots) == set()
    assert any("whole again" in line for line in copied(done))
    newest = two.here.place.archive(two.here.ids[-1])
    assert done.sent_bytes == archive.stat().st_size + newest.stat().st_size
    for one in two.here.ids:
        two.require_same(one)
    assert two.copy().copied == []


@pytest.mark.slow
def test_one_that_is_sent_again_mends_the_others_that_need_the_same_archive(two: Two) -> None:
    two.copy()
    rot(two.there.place.archive(two.there.ids[0]))
    assert verify_snapshots(two.there.context, two.there.notify, []).bad
    done = two.copy(two.here.ids[-1])
    assert (done.copied, done.mended) == ([two.here.ids[-1]], two.here.ids)
    assert known_damaged(two.there.place, read_catalogue(two.there.place).snapshots) == set()


@pytest.mark.slow
def test_another_archive_that_is_damaged_there_stays_known_as_such(two: Two) -> None:
    two.here.write("work/only here", os.urandom(700_000))
    last = two.here.backup().snapshot or ""
    two.copy()
    first = two.there.ids[0]
    for one in (first, last):
        rot(two.there.place.archive(one))
    assert verify_snapshots(two.there.context, two.there.notify, []).bad
    done = two.copy(first)
    assert done.mended == two.here.ids[:-1]
    assert known_damaged(two.there.place, read_catalogue(two.there.place).snapshots) == {last}


@pytest.mark.slow
@pytest.mark.parametrize("is_known", [False, True])
def test_an_archive_that_nobody_read_again_makes_no_damaged_snapshot_whole(
    two: Two, is_known: bool
) -> None:
    two.here.write("work/only here", os.urandom(700_000))
    last = two.here.backup().snapshot or ""
    two.copy()
    first = two.there.ids[0]
    for one in (first, last):
        rot(two.there.place.archive(one))
    assert verify_snapshots(two.there.context, two.there.notify, [last]).bad
    if not is_known:  # an earlier scratchflow noted nothing of an archive that it met on the way
        forget_verified(two.there.place, [first])
    two.here.write("work/next", "1")
    done = two.copy(two.here.backup().snapshot or "")  # brings the one of `last` again
    assert (last in done.mended) == is_known
    known = known_damaged(two.there.place, read_catalogue(two.there.place).snapshots)
    assert (last in known) != is_known
    bad = {one.id for one in verify_snapshots(two.there.context, two.there.notify, []).bad}
    assert (last in bad) != is_known


@pytest.mark.slow
def test_archives_that_nobody_read_again_are_not_said_to_be_compared(two: Two) -> None:
    two.copy()
    rot(two.there.place.archive(two.there.ids[0]))  # nobody knows
    two.here.write("work/next", "1")
    two.here.backup()
    done = two.copy("latest")
    assert done.relies_on == 3
    assert (
        "it needs 3 archives that were there already; `scratchflow -p there snapshots verify`"
        in ("".join(copied(done)))
    )
    assert verify_snapshots(two.there.context, two.there.notify, []).bad
    two.copy()
    two.require_same(two.here.ids[-1])


@pytest.mark.slow
def test_one_that_turns_out_to_be_damaged_is_named_and_the_others_go_over(two: Two) -> None:
    two.here.write("work/only here", os.urandom(700_000))
    damaged = two.here.backup().snapshot or ""
    (two.here.work / "only here").unlink()
    whole = two.here.backup().snapshot or ""
    rot(two.here.place.archive(damaged))
    done = two.copy()
    assert done.damaged == [damaged]
    assert done.exit_code() == SnapshotDamaged.exit_code
    assert done.copied == two.there.ids == [one for one in two.here.ids if one != damaged]
    assert any("not copied, because it is damaged" in line for line in copied(done))
    two.require_same(whole)
    with pytest.raises(SnapshotDamaged):
        two.copy(damaged)


def test_an_ancestor_is_no_fork_there_though_the_last_one_is_damaged(two: Two) -> None:
    first, second, third = two.here.ids
    prune_snapshots(two.here.context, two.here.notify, Prune(snapshots=(second,)))
    two.here.write("work/only here", os.urandom(700_000))
    damaged = two.here.backup().snapshot or ""
    rot(two.here.place.archive(damaged))
    done = two.copy()
    assert (done.copied, done.damaged) == ([first, third], [damaged])
    rows = list_snapshots(two.there.context, two.there.notify).snapshots
    assert [(row.id, row.fork, "fork" in row.stays) for row in rows] == [
        (first, False, False),
        (third, False, False),
    ]


def test_those_that_need_a_damaged_archive_are_named_and_it_is_sent_once(two: Two) -> None:
    rot(two.here.place.archive(two.here.ids[0]))
    done = two.copy()
    assert (done.copied, done.damaged, two.there.ids) == ([], two.here.ids, [])
    assert done.sent_bytes < 2 * two.here.place.archive(two.here.ids[0]).stat().st_size


def test_hints_about_the_other_store_are_typed_for_the_other_profile(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise NoSpace(path="store", reason="No space left on device")

    monkeypatch.setattr(Arriving, "take", full)
    with pytest.raises(NoSpace) as caught:
        two.copy()
    assert "`scratchflow -p there snapshots prune`" in caught.value.shown_hint
    assert "`scratchflow -p there config set store PATH`" in caught.value.shown_hint


@pytest.mark.slow
@pytest.mark.parametrize("gone_here", [True, False])
@pytest.mark.parametrize("gone_there", [True, False])
def test_a_damaged_archive_is_sent_again_whichever_store_has_its_manifest(
    two: Two, *, gone_here: bool, gone_there: bool
) -> None:
    two.copy()
    first, _, third = two.there.ids
    for store, is_gone in ((two.here, gone_here), (two.there, gone_there)):
        if is_gone:
            store.place.manifest(first).unlink()
    rot(two.there.place.archive(first))
    assert verify_snapshots(two.there.context, two.there.notify, [third]).bad
    done = two.copy(third)
    assert (done.copied, done.blocked) == ([third], [])
    assert third in done.mended
    assert done.sent_bytes == two.here.place.archive(first).stat().st_size
    two.require_same(third)


def test_a_damaged_one_that_cannot_be_had_as_it_was_is_named(two: Two) -> None:
    two.copy()
    first, _, third = two.there.ids
    two.there.place.manifest(first).unlink()
    cut = two.there.place.archive(first)
    cut.chmod(0o600)
    cut.write_bytes(b"what is left")
    assert verify_snapshots(two.there.context, two.there.notify, [third]).bad
    done = two.copy(third)
    assert (done.copied, done.blocked) == ([], [third])
    assert any("or a damaged one" in line for line in copied(done))


@pytest.mark.slow
def test_what_goes_to_and_fro_is_only_what_changed_whatever_was_saved_between(two: Two) -> None:
    """As `hop --to` does: the newest goes over, the work goes on there, and comes back."""
    source, target, names = two.here, two.there, ("here", "there")
    for number in range(6):
        saves = 3 if number == 2 else 1
        for save in range(saves):  # those between are never copied
            source.write(f"work/save {number} {save}", f"{number} {save}")
            if saves > 1:
                source.write("work/file 1", os.urandom(700_000))
            source.backup()
        newest = source.ids[-1]
        changed = 200_000 if number else 5_000_000  # the first brings everything
        done = two.copy("latest", profile=names[0], to=names[1])
        assert done.copied == [newest]
        assert done.sent_bytes < (changed if saves == 1 else 800_000 * saves)
        manifests = [desk.place.manifest(newest).read_bytes() for desk in (source, target)]
        assert manifests[0] == manifests[1]
        target.restore(newest)
        assert target.content() == source.content()
        assert verify_snapshots(target.context, target.notify, []).bad == []
        source, target, names = target, source, (names[1], names[0])


@pytest.mark.slow
@pytest.mark.parametrize("gone_at", ["here", "there"])
def test_an_archive_that_has_its_manifest_in_one_store_only_is_the_same_in_both(
    two: Two, gone_at: str
) -> None:
    two.copy()
    second = two.here.ids[1]
    gone = two.here if gone_at == "here" else two.there
    prune_snapshots(gone.context, gone.notify, Prune(snapshots=(second,)))
    two.here.write("work/next", "1")
    newest = two.here.backup().snapshot or ""
    done = two.copy(newest)
    assert (done.copied, done.relies_on) == ([newest], 3)
    assert done.sent_bytes == two.here.place.archive(newest).stat().st_size
    two.require_same(newest)


def shrunk(two: Two, *, needs_between: bool = True) -> tuple[str, str, str]:
    """Three more: a large file, something besides, and without the large file."""
    two.here.write("work/large", os.urandom(3_000_000))
    two.here.write("work/stays", os.urandom(300_000))
    large = two.here.backup().snapshot or ""
    file = two.here.write("work/besides", "besides")
    besides = two.here.backup().snapshot or ""
    (two.here.work / "large").unlink()
    if not needs_between:
        file.unlink()
    return large, besides, two.here.backup(allow_shrink=True).snapshot or ""


def give_up(desk: Desk, snapshot: str) -> None:
    """Removes it; of its archive only what others need is left."""
    archive = desk.place.archive(snapshot)
    before = archive.stat().st_size
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(snapshot,)))
    assert archive.stat().st_size < before / 2


@pytest.mark.slow
@pytest.mark.parametrize("given_up_at", [["here"], ["there"], ["here", "there"]])
def test_what_is_left_of_an_archive_serves_as_the_whole_one_does(
    two: Two, given_up_at: list[str]
) -> None:
    large, besides, _ = shrunk(two)
    two.copy()
    for desk, name in ((two.here, "here"), (two.there, "there")):
        if name in given_up_at:
            prune_snapshots(desk.context, desk.notify, Prune(snapshots=(besides,)))
            give_up(desk, large)
    two.here.write("work/next", "1")
    newest = two.here.backup().snapshot or ""
    done = two.copy(newest)
    assert (done.copied, done.as_full_bytes) == ([newest], 0)
    assert done.sent_bytes == two.here.place.archive(newest).stat().st_size
    two.require_same(newest)
    manifests = [desk.place.manifest(newest).read_bytes() for desk in (two.here, two.there)]
    assert manifests[0] == manifests[1]


@pytest.mark.slow
def test_one_that_needs_more_than_is_left_there_comes_as_one_full_archive(two: Two) -> None:
    large, besides, without = shrunk(two, needs_between=False)
    two.copy(large, without)
    give_up(two.there, large)
    left = two.there.place.archive(large).read_bytes()
    foretold = two.copy(besides, dry_run=True)
    most = foretold.sent_bytes + foretold.perhaps_as_full_bytes
    (said,) = [line for line in copied(foretold) if line.startswith("up to ")]
    assert "then it goes as one full archive, which only the copy finds out" in said
    done = two.copy(besides)
    assert foretold.sent_bytes < done.sent_bytes <= most * 1.01  # names and times of random bytes
    assert (done.copied, done.perhaps_as_full_bytes) == ([besides], 0)
    assert (done.copied, done.blocked, done.not_whole) == ([besides], [], [])
    assert two.there.place.archive(large).read_bytes() == left
    two.require_same(besides)
    two.require_same(without)
    rows = list_snapshots(two.there.context, two.there.notify).snapshots
    assert {row.id: row.kind for row in rows}[besides] == "full"
    assert "after `scratchflow backup --full` later copies send only what changed" in "".join(
        copied(done)
    )


@pytest.mark.slow
def test_a_full_backup_makes_two_stores_alike_again_that_had_become_different(two: Two) -> None:
    first = two.here.ids[0]
    two.copy("latest")
    other = two.there.place.archive(first)
    two.there.place.manifest(first).unlink()
    other.chmod(0o600)
    other.write_bytes(b"something else")
    two.here.write("work/next", "1")
    two.here.backup()
    done = two.copy("latest")
    assert done.as_full_bytes
    said = "it went as one full archive, because profile `there` has another archive that it needs;"
    assert any(line.startswith(said) for line in copied(done))
    two.here.write("work/next", "2")
    two.here.backup(full=True)
    assert not two.copy("latest").as_full_bytes
    for number in range(2):
        two.here.write("work/next", f"again {number}")
        two.here.backup()
        assert two.copy("latest").sent_bytes < 100_000


@pytest.mark.slow
def test_one_that_needs_more_than_is_left_there_is_named_when_its_own_name_is_taken(
    two: Two,
) -> None:
    large, besides, without = shrunk(two)
    two.copy(large, without)
    give_up(two.there, large)
    before = two.there.ids
    done = two.copy(besides)
    assert (done.copied, done.blocked) == ([], [besides])
    assert two.there.ids == before
    two.require_same(without)
    assert "`scratchflow backup --full` takes one" in "".join(copied(done))
    newest = two.here.backup(full=True).snapshot or ""  # though nothing changed
    assert two.copy("latest").copied == [newest]
    two.require_same(newest)


@pytest.mark.slow
def test_one_that_needs_what_another_damaged_one_needs_is_compared_first(two: Two) -> None:
    two.copy()
    first = two.there.ids[0]
    two.there.place.manifest(first).unlink()
    rot(two.there.place.archive(first))
    assert verify_snapshots(two.there.context, two.there.notify, []).bad
    two.here.write("work/next", "1")
    newest = two.here.backup().snapshot or ""
    assert two.copy(newest).copied == [newest]
    two.require_same(newest)


def test_an_archive_that_is_given_up_in_part_meanwhile_stops_the_copy(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.copy()
    first, _, third = two.there.ids
    for one in (first, third):
        two.there.place.manifest(one).unlink()
    two.there.place.archive(third).unlink()
    real = module._Copy._chain

    def chain(self: module._Copy, *asked: Any) -> Any:
        done = real(self, *asked)
        two.there.place.archive(first).write_bytes(b"what is left")
        return done

    monkeypatch.setattr(module._Copy, "_chain", chain)
    with pytest.raises(CopyBroken, match="was changed there meanwhile"):
        two.copy(third)
    assert third not in two.there.ids


@pytest.mark.slow
@pytest.mark.parametrize("state", ["half", "empty", "flipped"])
@pytest.mark.parametrize("every", [True, False])
def test_a_damaged_manifest_there_is_put_right(two: Two, state: str, *, every: bool) -> None:
    two.copy()
    newest = two.here.ids[-1]
    manifest = two.there.place.manifest(newest)
    content = manifest.read_bytes()
    flipped = content.replace(b'"files"', b'"filez"')
    manifest.write_bytes({"half": content[:100], "empty": b"", "flipped": flipped}[state])
    assert newest not in two.there.ids
    done = two.copy() if every else two.copy("latest")
    assert (done.copied, done.newest, done.sent_bytes) == ([newest], newest, 0)
    assert manifest.read_bytes() == content
    two.require_same(newest)


def test_the_archive_of_a_damaged_manifest_is_compared(two: Two) -> None:
    two.copy()
    newest = two.here.ids[-1]
    two.there.place.manifest(newest).write_bytes(b"")
    rot(two.there.place.archive(newest))
    done = two.copy("latest")
    assert done.copied == [newest]
    assert done.sent_bytes == two.here.place.archive(newest).stat().st_size
    two.require_same(newest)


@pytest.mark.parametrize("state", ["directory", "link", "newer", "of another"])
def test_what_is_no_damaged_manifest_stays_there_and_is_named(two: Two, state: str) -> None:
    two.copy()
    first, _, newest = two.there.ids
    manifest = two.there.place.manifest(newest)
    content = manifest.read_bytes()
    manifest.unlink()
    if state == "directory":
        manifest.mkdir()
    elif state == "link":
        manifest.symlink_to(two.there.place.manifest(first))
    elif state == "newer":
        decoded = msgspec.json.decode(checked_manifest(content), type=Manifest)
        manifest.write_bytes(encode_manifest(msgspec.structs.replace(decoded, schema=99)))
    else:
        manifest.write_bytes(two.there.place.manifest(first).read_bytes())
    before = os.lstat(manifest)
    for done in (two.copy(), two.copy("latest")):
        assert (done.copied, list(done.in_the_way)) == ([], [newest])
        assert done.exit_code() == SnapshotDamaged.exit_code
        words = "".join(copied(done))
        assert f"in the store of profile `there`, `{manifest}`: " in words
        assert "move it away there, and copy again" in words
    assert os.lstat(manifest).st_mtime_ns == before.st_mtime_ns
    offered = offer(two.here.context, two.here.notify, Offer()).snapshots[-1]
    with pytest.raises(InTheWay, match=newest):
        adopt_whole(two.there.context, two.there.notify, offered, doing="a test")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["directory", "link", "FIFO"])
def test_what_is_no_archive_there_is_named_and_the_others_go(two: Two, kind: str) -> None:
    first, second, third = two.here.ids
    two.here.write("work/next", "1")
    whole = two.here.backup(full=True).snapshot or ""
    two.copy(first)
    archive = two.there.place.archive(second)
    if kind == "directory":
        archive.mkdir()
    elif kind == "link":
        archive.symlink_to(two.there.place.archive(first))
    else:
        os.mkfifo(archive)
    done = two.copy()
    assert done.copied == [whole]
    assert list(done.in_the_way) == [second, third]
    assert done.exit_code() == SnapshotDamaged.exit_code
    (line, _, *_) = copied(done)
    assert f"`{archive}` is a {'device, a FIFO' if kind == 'FIFO' else kind}" in line
    assert two.there.ids == [first, whole]
    archive.rmdir() if kind == "directory" else archive.unlink()
    assert two.copy().copied == [second, third]
    two.require_same(third)


def test_what_the_other_store_does_not_list_at_the_end_is_not_said_to_be_copied(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Copy, "_send", lambda *_: None)
    done = two.copy()
    assert (done.copied, done.not_whole) == ([], two.here.ids)
    assert done.exit_code() == SnapshotDamaged.exit_code
    lines = list(copied(done))
    assert len(lines) == 3
    assert "`scratchflow -p there snapshots verify " in lines[0]


def test_archives_that_a_killed_run_left_without_a_manifest_are_no_leftovers(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.copy()
    for one in two.there.ids:
        two.there.place.manifest(one).unlink()
    later = time.time() + 86400
    monkeypatch.setattr(time, "time", lambda: later)
    assert two.copy().sent_bytes == 0
    assert two.there.ids == two.here.ids


def test_a_mark_that_keeps_it_goes_along(two: Two) -> None:
    first = two.here.ids[0]
    keep_snapshots(two.here.context, two.here.notify, Mark(snapshots=(first,)))
    two.copy()
    assert set(read_marks(two.there.place)) == {first}


def test_a_workspace_of_another_name_is_refused_before_anything_is_sent(two: Two) -> None:
    two.write_config('workspace = "other"\n')
    with pytest.raises(WorkspaceNamedOtherwise) as refused:
        two.copy()
    assert "`snapshots export FILE` with the profile that has them" in (refused.value.shown_hint)


def test_the_same_store_is_refused(two: Two) -> None:
    with pytest.raises(CopyToItself) as refused:
        two.copy(to="here")
    assert "`scratchflow profiles list`" in refused.value.shown_hint


def test_another_run_that_copies_the_same_is_left_alone(two: Two) -> None:
    two.there.backup()
    part = two.there.place.arriving / f"{two.here.ids[0]}.part"
    with _alone(part, "x"), pytest.raises(CopyUnderWay):
        two.copy()


@pytest.mark.slow
def test_a_store_that_fills_up_says_so_and_can_go_on(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scratchflow.store.commit import arriving

    real: Callable[[int, bytes], None] = arriving._write_all

    def full(descriptor: int, piece: bytes) -> None:
        if os.fstat(descriptor).st_size > 400_000:
            raise OSError(28, "No space left on device")
        real(descriptor, piece)

    with monkeypatch.context() as patch:
        patch.setattr(arriving, "_write_all", full)
        with pytest.raises(EmptyStoreFull) as caught:
            two.copy()
        assert "prune" not in caught.value.shown_hint
        for content in ("one", "two"):  # the only one always stays
            two.there.write("work/own", content)
            two.there.backup()
        with pytest.raises(NoSpace) as with_snapshots:
            two.copy()
        assert "snapshots prune" in with_snapshots.value.shown_hint
    two.copy()
    last = two.here.ids[-1]  # of a time before or after those that were taken there
    two.require_same(last)
    shutil.rmtree(two.directory / "here")
    assert two.there.restore(last).written_files == 4


def test_a_quota_in_the_middle_leaves_nothing_of_the_unfinished_snapshot(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.copy(two.here.ids[0])
    whole = Arriving.take
    taken: list[str] = []

    def full(self: Arriving, pieces: Iterator[bytes]) -> ArchiveOf:
        taken.append(self.archive.id)
        if len(taken) == 2:
            raise NoSpace(path="/store", reason="Disk quota exceeded")
        return whole(self, pieces)

    monkeypatch.setattr(Arriving, "take", full)
    with pytest.raises(NoSpace) as caught:
        two.copy(two.here.ids[2])
    assert "that had arrived of this snapshot were removed again" in caught.value.shown_hint
    assert list(two.there.place.arriving.iterdir()) == []
    assert two.there.ids == two.here.ids[:1]
    monkeypatch.setattr(Arriving, "take", whole)
    two.copy(two.here.ids[2])
    two.require_same(two.here.ids[2])
