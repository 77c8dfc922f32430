"""Two homes are made equal by the real unison; what changed on both sides stays."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from scratchflow.cluster.unison.words import Change
from scratchflow.flows.sync.pair import Person
from scratchflow.model.errors import ConnectionLost, SyncManyDeletions, UnisonFailed
from scratchflow.model.events import Item, Progress, Warned
from tests.unit.flows.sync import cut_after
from tests.unit.flows.sync.conftest import TwoHomes, content_of, written

MANY = {f"p/d{number % 10}/f{number}": f"{number}\n" for number in range(200)}


@pytest.fixture
def equal(homes: TwoHomes) -> TwoHomes:
    written(homes.uni, MANY)
    homes.sync()
    return homes


def test_what_one_side_has_the_other_gets(homes: TwoHomes) -> None:
    written(homes.uni, {"p/a": "1", "other": "2", ".ssh/key": "3", "p/.ssh/key": "4"})
    written(homes.aws, {"p/b/c": "5"})
    done = homes.sync()
    assert (done.to_profile, done.to_first) == (1, 1)
    assert content_of(homes.aws / "p") == {"a": "1", "b/c": "5"}
    assert content_of(homes.uni / "p") == {"a": "1", "b/c": "5", ".ssh/key": "4"}
    assert not (homes.aws / "other").exists()
    assert any(isinstance(event, Progress) for event in homes.events)


def test_the_second_time_there_is_nothing_to_do(equal: TwoHomes) -> None:
    done = equal.sync()
    assert (done.to_profile, done.to_first, done.conflicts) == (0, 0, [])


def test_a_conflict_is_named_and_left_alone_while_the_rest_goes_on(equal: TwoHomes) -> None:
    written(equal.uni, {"p/d0/f0": "ours, longer", "p/new": "x"})
    written(equal.aws, {"p/d0/f0": "theirs"})
    done = equal.sync()
    assert done.conflicts == ["p/d0/f0"]
    assert (equal.uni / "p/d0/f0").read_text() == "ours, longer"
    assert (equal.aws / "p/d0/f0").read_text() == "theirs"
    assert (equal.aws / "p/new").read_text() == "x"
    assert Item(action="conflict", path="p/d0/f0") in equal.events


@pytest.mark.parametrize("winner", ["first", "other"])
def test_a_person_decides_about_a_conflict(equal: TwoHomes, winner: str) -> None:
    written(equal.uni, {"p/d0/f0": "ours, longer"})
    written(equal.aws, {"p/d0/f0": "theirs"})
    asked: list[Change] = []

    def decide(change: Change, first: str, other: str) -> str:
        assert (first, other) == ("uni", "aws")
        asked.append(change)
        return winner

    done = equal.sync(Person(decide=decide))  # type: ignore[arg-type]  # one of the winners
    assert [change.path for change in asked] == [b"p/d0/f0"]
    assert done.conflicts == []
    kept, lost = ("ours, longer", "theirs") if winner == "first" else ("theirs", "ours, longer")
    loser = equal.aws if winner == "first" else equal.uni
    assert (equal.uni / "p/d0/f0").read_text() == (equal.aws / "p/d0/f0").read_text() == kept
    assert (loser / ".unison/backup/p/d0/f0").read_text() == lost


def test_the_preferred_side_wins_a_conflict(equal: TwoHomes) -> None:
    written(equal.uni, {"p/d0/f0": "ours, longer"})
    written(equal.aws, {"p/d0/f0": "theirs"})
    root = equal.pair().homes.other_root
    assert equal.sync(rules=equal.rules(prefer=root)).conflicts == []
    assert (equal.uni / "p/d0/f0").read_text() == "theirs"


def test_a_deletion_and_a_rename_go_to_the_other_side_and_a_copy_stays(equal: TwoHomes) -> None:
    (equal.uni / "p/d1/f1").unlink()
    (equal.aws / "p/d2/f2").rename(equal.aws / "p/d2/renamed")
    done = equal.sync()
    assert done.deleted == 2
    assert not (equal.aws / "p/d1/f1").exists()
    assert (equal.uni / "p/d2/renamed").read_text() == "2\n"
    assert (equal.aws / ".unison/backup/p/d1/f1").read_text() == "1\n"
    assert content_of(equal.uni / "p") == content_of(equal.aws / "p")


def test_many_deletions_are_refused_when_nobody_agrees(equal: TwoHomes) -> None:
    for number in range(3):
        shutil.rmtree(equal.uni / f"p/d{number}")
    written(equal.aws, {"p/new": "x"})
    with pytest.raises(SyncManyDeletions, match="`aws` would lose 60 of 201 files"):
        equal.sync()
    assert len(content_of(equal.aws / "p")) == 201
    assert not (equal.uni / "p/new").exists()


def test_many_deletions_are_asked_about(equal: TwoHomes) -> None:
    for number in range(3):
        shutil.rmtree(equal.aws / f"p/d{number}")
    asked: list[tuple[str, int, int]] = []

    def allow(profile: str, files: int, total: int) -> bool:
        asked.append((profile, files, total))
        return len(asked) > 1

    with pytest.raises(SyncManyDeletions):
        equal.sync(Person(allow=allow))
    equal.sync(Person(allow=allow))
    assert asked == [("uni", 60, 200)] * 2
    assert len(content_of(equal.uni / "p")) == 140
    assert len(content_of(equal.uni / ".unison/backup/p")) == 60


def test_a_link_in_place_of_a_directory_counts_with_all_its_files(equal: TwoHomes) -> None:
    for number in range(3):
        shutil.rmtree(equal.uni / f"p/d{number}")
        os.symlink("/elsewhere", equal.uni / f"p/d{number}")
    with pytest.raises(SyncManyDeletions, match="would lose 60 of"):
        equal.sync()
    equal.sync(allow_deletions=True)
    assert (equal.aws / "p/d0").is_symlink()


def test_a_dry_run_says_what_would_happen_and_changes_nothing(equal: TwoHomes) -> None:
    shutil.rmtree(equal.uni / "p/d1")
    written(equal.aws, {"p/new": "x"})
    done = equal.sync(dry_run=True)
    assert {(one.path, one.action) for one in done.plan} == {
        ("p/d1", "deleted, to aws"),
        ("p/new", "new file, to uni"),
    }
    assert (equal.aws / "p/d1").is_dir()
    assert not (equal.uni / "p/new").exists()


def test_another_host_name_of_the_same_home_keeps_the_archive(equal: TwoHomes) -> None:
    """Without the archive a deletion would come back as a new file of the other side."""
    written(equal.uni, {"p/.keep": ""})
    (equal.uni / "p/d1/f1").unlink()
    equal.carrier = [
        "unshare",
        "--map-root-user",
        "--uts",
        "sh",
        "-c",
        'hostname login2 && exec "$@"',
        "sh",
    ]
    done = equal.sync()
    assert done.deleted == 1
    assert not (equal.uni / "p/d1/f1").exists()


@pytest.mark.slow
@pytest.mark.parametrize("cut_bytes", [3000, 20_000, 400_000, 2_000_000])
def test_a_link_that_is_cut_loses_nothing_and_the_next_run_goes_on(
    homes: TwoHomes, cut_bytes: int
) -> None:
    written(homes.aws, {f"p/big{number}": os.urandom(2000).hex() * 50 for number in range(20)})
    written(homes.uni, MANY)
    wanted = {**content_of(homes.uni / "p"), **content_of(homes.aws / "p")}
    homes.carrier = [sys.executable, str(Path(cut_after.__file__)), str(cut_bytes)]
    with pytest.raises(ConnectionLost, match="no connection to `aws`"):
        homes.sync()
    homes.carrier = []
    homes.sync()
    assert content_of(homes.uni / "p") == wanted
    assert content_of(homes.aws / "p") == wanted


def test_a_file_that_cannot_be_synced_is_a_warning(equal: TwoHomes) -> None:
    os.mkfifo(equal.uni / "p/fifo")
    written(equal.uni, {"p/new": "x"})
    done = equal.sync()
    assert [problem.path for problem in done.skipped] == ["p/fifo"]
    assert done.conflicts == []
    warned = [event for event in equal.events if isinstance(event, Warned)]
    assert [(one.code, one.path) for one in warned] == [("sync.skipped", "p/fifo")]
    assert (equal.aws / "p/new").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_named_and_gives_the_exit_code(equal: TwoHomes) -> None:
    written(equal.uni, {"p/secret": "x", "p/new": "y"})
    (equal.uni / "p/secret").chmod(0)
    equal.sync()
    warned = [event for event in equal.events if isinstance(event, Warned)]
    assert [(one.code, one.path) for one in warned] == [("files.unreadable", "p/secret")]
    assert (equal.aws / "p/new").exists()


def test_names_of_two_lines_stay_where_they_are(equal: TwoHomes) -> None:
    written(equal.uni, {"p/two\nlines": "x", "p/we ird$ [] ": "y"})
    equal.sync()
    assert not (equal.aws / "p/two\nlines").exists()
    assert (equal.aws / "p/we ird$ [] ").read_text() == "y"


def test_unison_says_itself_why_it_gave_up(homes: TwoHomes) -> None:
    written(homes.uni, {"p/a": "1"})
    with pytest.raises(UnisonFailed, match="-nonsense"):
        homes.sync(rules=homes.rules(more=["-nonsense"]))


def test_a_lost_archive_is_not_passed_over(equal: TwoHomes) -> None:
    for archive in (equal.aws / ".unison").glob("ar*"):
        archive.unlink()
    with pytest.raises(UnisonFailed, match=r"[aA]rchive"):
        equal.sync()
    assert equal.sync(rules=equal.rules(more=["-ignorearchives"])).to_first == 0
