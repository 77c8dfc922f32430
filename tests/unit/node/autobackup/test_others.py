"""Every workspace of ours on the node is saved by the auto-backup, not only the profile's own."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from scratchflow.node.autobackup.others import OtherBackups
from scratchflow.store.catalogue import read_catalogue
from scratchflow.workspace.lock import LOOP_LOCK, has_loop
from tests.unit.conftest import Desk, make_desk
from tests.unit.node.restore.test_abandon import interrupt
from tests.unit.node.test_other_workspaces import second


class Others:
    """A profile with a second workspace beside its own, and what its loop does for that."""

    def __init__(self, directory: Path, more: str = "") -> None:
        self.desk = make_desk(directory, more)
        self.other = second(self.desk)
        self.other.write("p2/file")
        self.other.backup(purpose="created")
        self.lines: list[str] = []
        self.ending = False
        self.backups = OtherBackups(self.desk.context, self.lines.append, lambda: self.ending)


@pytest.fixture
def others(tmp_path: Path) -> Others:
    return Others(tmp_path)


@contextmanager
def loop_of_its_own(desk: Desk) -> Iterator[None]:
    with (desk.context.workspace.state / LOOP_LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_what_is_written_in_a_second_workspace_is_saved(others: Others) -> None:
    others.other.write("p2/unsaved", "written since")
    others.backups.take("automatic", "auto")
    last = read_catalogue(others.other.place).snapshots[-1]
    assert (last.purpose, last.message, last.files) == ("auto", "automatic", 2)
    (seen,) = others.backups.seen()
    assert (seen.name, seen.snapshot, seen.error, seen.own_loop) == ("p2", last.id, "", False)
    assert seen.time is not None
    others.backups.take("automatic", "auto")
    assert read_catalogue(others.other.place).newest_id == last.id, "nothing changed"


def test_one_with_a_loop_of_its_own_is_left_to_it(others: Others) -> None:
    others.other.write("p2/unsaved")
    with loop_of_its_own(others.other):
        assert has_loop(others.other.context.workspace)
        others.backups.take("automatic", "auto")
        (seen,) = others.backups.seen()
    assert (len(others.other.ids), seen.own_loop) == (1, True)
    assert not has_loop(others.other.context.workspace)


def test_a_failure_is_told_and_the_next_one_is_saved_all_the_same(others: Others) -> None:
    third = second(others.desk, "p3")
    third.write("p3/file")
    third.backup()
    third.write("p3/more")
    (others.other.place.directory / f"{others.other.ids[-1]}.json").unlink()
    others.backups.take("automatic", "auto")
    assert len(third.ids) == 2
    errors = {one.name: one.error for one in others.backups.seen()}
    assert errors == {"p2": "no store has the snapshot that it came from", "p3": ""}
    assert any("`p2`: automatic: failed" in line for line in others.lines)


def test_one_that_is_half_restored_is_told_as_that(
    others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = others.other.ids[0]
    others.other.write("p2/file", "second")
    interrupt(others.other, first, monkeypatch)
    others.backups.take("automatic", "auto")
    (seen,) = others.backups.seen()
    assert (seen.restoring, seen.store) == (first, str(others.desk.context.store))
    assert "did not finish" in seen.error
    others.other.restore(first)
    others.backups.take("automatic", "auto")
    (seen,) = others.backups.seen()
    assert (seen.restoring, seen.error) == ("", "")


def test_a_note_that_may_not_be_read_does_not_end_the_loop(others: Others) -> None:
    note = others.other.context.workspace.state / "base.json"
    note.chmod(0)
    assert others.backups.seen() == []
    others.backups.take("automatic", "auto")
    note.chmod(0o600)
    (seen,) = others.backups.seen()
    assert "PermissionError" in seen.error


def test_when_the_job_ends_the_last_ones_are_not_kept_waiting(others: Others) -> None:
    others.other.write("p2/unsaved")
    others.ending = True
    others.backups.take("automatic", "auto")
    assert len(others.other.ids) == 1
    others.backups.take("the job ends", "final")
    assert read_catalogue(others.other.place).snapshots[-1].purpose == "final"


@pytest.mark.parametrize(("profile", "left"), [("test", 3), ("gpu", 4)])
def test_only_snapshots_of_the_same_profile_are_removed_by_its_rules(
    tmp_path: Path, profile: str, left: int
) -> None:
    rules = "keep_last = 2\nkeep_hourly = 0\nkeep_daily = 0\nkeep_weekly = 0\n"
    others = Others(tmp_path, f"[profiles.test.backup]\n{rules}")
    settings = msgspec.structs.replace(others.other.context.settings, name=profile)
    theirs = Desk(msgspec.structs.replace(others.other.context, settings=settings))
    theirs.write("p2/by-them")
    theirs.backup(purpose="auto", prune=False)
    for number in range(2):
        theirs.write(f"p2/{number}")
        others.backups.take("automatic", "auto")
    assert len(theirs.ids) == left
