"""`snapshots copy` and damage: what is said of it is true of both stores."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from scratchflow.cli.transfer_words import copied
from scratchflow.model.ages import named
from scratchflow.model.errors.store import NoSpace, StoreUnusable
from scratchflow.model.events import Warned
from scratchflow.model.requests import ArchiveOf
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import known_damaged
from scratchflow.store.commit.arriving import Arriving
from tests.unit.conftest import Desk
from tests.unit.flows.transfer.conftest import Two, rot


def _with_its_own_file(desk: Desk) -> str:
    """One more snapshot, and none that is taken later needs its archive."""
    desk.write("work/only here", os.urandom(700_000))
    snapshot = desk.backup().snapshot or ""
    (desk.work / "only here").unlink()
    return snapshot


def _check(desk: Desk, *names: str) -> None:
    assert verify_snapshots(desk.context, desk.notify, list(names)).bad


@pytest.mark.slow
def test_a_dry_run_leaves_out_what_is_known_to_be_damaged_as_the_copy_does(two: Two) -> None:
    damaged = _with_its_own_file(two.here)
    whole = two.here.backup().snapshot or ""
    rot(two.here.place.archive(damaged))
    _check(two.here)
    said = two.copy(dry_run=True)
    assert (said.damaged, said.exit_code()) == ([damaged], 31)
    assert whole in said.copied
    lines = list(copied(said))
    assert lines[0].startswith("would not be copied, because it is damaged: snapshot ")
    assert f"`scratchflow -p here snapshots verify {damaged[-6:]}` says what" in lines[0]
    assert lines[1].startswith("would copy 4 snapshots (")
    alone = two.copy(damaged, dry_run=True)
    assert (alone.copied, alone.damaged, alone.along) == ([], [damaged], two.here.ids[:1])
    done = two.copy()
    assert (done.copied, done.damaged, done.sent_bytes) == (
        said.copied,
        said.damaged,
        said.sent_bytes + two.here.place.archive(damaged).stat().st_size,
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_known", [True, False])
def test_those_that_are_damaged_are_named_also_when_the_other_store_gets_full(
    two: Two, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    damaged = _with_its_own_file(two.here)
    two.here.write("work/next", "1")
    newest = two.here.backup().snapshot
    rot(two.here.place.archive(damaged))
    if is_known:
        _check(two.here)
    take = Arriving.take

    def until_full(self: Arriving, pieces: Iterator[bytes]) -> ArchiveOf:
        if self.archive.id == newest:
            raise NoSpace(path="store", reason="Disk quota exceeded")
        return take(self, pieces)

    monkeypatch.setattr(Arriving, "take", until_full)
    with pytest.raises(NoSpace):
        two.copy()
    (warned,) = [one for one in two.events if isinstance(one, Warned)]
    assert warned.code == "snapshot.damaged_at_source"
    next_step = f"`scratchflow -p here snapshots verify {damaged}` says what is wrong"
    assert warned.message.endswith(f"`here`: snapshot {damaged}; {next_step}")


def test_a_dry_run_counts_what_needs_nothing_of_a_damaged_archive_from_here(two: Two) -> None:
    """The other store has that archive whole, so it is not read here."""
    two.copy()
    two.here.write("work/next", "1")
    newest = two.here.backup().snapshot or ""
    rot(two.here.place.archive(two.here.ids[0]))
    _check(two.here)
    said = two.copy(dry_run=True)
    assert (said.copied, said.damaged) == ([newest], [])
    assert two.copy().copied == [newest]


@pytest.mark.parametrize("found_by", ["verify", "copy"])
def test_a_dry_run_knows_what_is_damaged_itself_though_what_it_needs_is_damaged_as_well(
    two: Two, found_by: str
) -> None:
    two.copy()
    two.here.write("work/next", os.urandom(700_000))
    newest = two.here.backup().snapshot or ""
    first = two.here.ids[0]
    for one in (first, newest):
        rot(two.here.place.archive(one))
    if found_by == "verify":
        _check(two.here)
    else:
        _check(two.here, first)
        assert two.copy().damaged == [newest]
    said = two.copy(dry_run=True)
    assert (said.copied, said.damaged, said.exit_code()) == ([], [newest], 31)
    assert list(copied(said))[1:] == ["profile `there` has all others already"]


@pytest.mark.slow
def test_one_that_is_damaged_in_both_stores_is_not_said_to_be_whole_again(two: Two) -> None:
    damaged = _with_its_own_file(two.here)
    two.copy()
    first = two.here.ids[0]
    for archive in (two.there.place.archive(first), two.there.place.archive(damaged)):
        rot(archive)
    _check(two.there, first)  # of the other nobody knows but that it needs the first
    rot(two.here.place.archive(damaged))
    done = two.copy()
    assert done.damaged == [damaged]
    assert done.mended == two.here.ids[:-1]
    assert known_damaged(two.there.place, read_catalogue(two.there.place).snapshots) == {damaged}
    assert sum(damaged[-6:] in line for line in copied(done)) == 1


def test_what_was_the_newest_there_before_is_not_said_to_be_so_now(two: Two) -> None:
    two.copy()
    newest = two.here.ids[-1]
    rot(two.there.place.archive(newest))
    _check(two.there)
    done = two.copy()
    assert (done.copied, done.mended, done.newest) == ([newest], [newest], newest)
    assert not any("the newest there" in line for line in copied(done))


def test_one_that_was_only_said_to_be_damaged_makes_no_other_whole_unread(two: Two) -> None:
    damaged = _with_its_own_file(two.here)
    two.copy()
    first = two.here.ids[0]
    whole = two.there.place.archive(first).read_bytes()
    rot(two.there.place.archive(first))
    _check(two.there, first)
    two.there.place.archive(first).write_bytes(whole)  # as it was: somebody put it back
    rot(two.there.place.archive(damaged))
    done = two.copy(first)
    assert damaged not in done.mended
    assert known_damaged(two.there.place, read_catalogue(two.there.place).snapshots) == {damaged}


def test_one_that_is_damaged_here_and_whole_there_is_told_with_the_way_back(two: Two) -> None:
    two.copy()
    first, second, third = two.here.ids
    rot(two.there.place.archive(first))
    _check(two.there)
    two.here.place.archive(second).unlink()  # `third` needs it, too
    done = two.copy()
    assert (done.damaged, done.mended) == ([second, third], two.here.ids)
    lines = list(copied(done))
    assert not any("not copied" in line for line in lines)
    back = f"`scratchflow -p there snapshots copy {second[-6:]} --to here` mends it"
    assert lines[0].startswith("damaged in the store of profile `here`: snapshot ")
    assert lines[0].endswith(f"profile `there` has it whole, and {back}")


def test_a_store_there_that_cannot_be_used_is_told_with_its_profile(two: Two) -> None:
    two.copy()
    (two.there.place.directory / "store.json").write_text("junk")
    with pytest.raises(StoreUnusable, match=r"^profile `there`: the store `"):
        two.copy()


@pytest.mark.parametrize("dry_run", [False, True])
def test_one_whose_manifest_cannot_be_read_is_named_when_all_are_copied(
    two: Two, *, dry_run: bool
) -> None:
    *others, last = two.here.ids
    two.copy(*others)
    manifest = two.here.place.manifest(last)
    half = manifest.read_bytes()[:100]
    manifest.chmod(0o600)
    manifest.write_bytes(half)
    done = two.copy(dry_run=dry_run)
    assert list(done.unreadable) == [last]
    assert done.exit_code() == 31
    first, second = copied(done)
    assert f"snapshot {named(last)} cannot be read: its manifest is damaged" in first
    assert second == "profile `there` has all others already"
