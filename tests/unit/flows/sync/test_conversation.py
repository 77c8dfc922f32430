"""Two homes are made equal by the real unison; what changed on both sides stays."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from scratchflow.cluster.unison.words import Change
from scratchflow.flows.sync.conversation import Person
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.sync import SyncManyDeletions, UnisonFailed
from scratchflow.model.events import Item, Progress, Warned
from scratchflow.model.results.sync import Synced, SyncedPair
from tests.unit.flows.sync import cut_after
from tests.unit.flows.sync.conftest import MANY, TwoHomes, content_of, written

pytestmark = pytest.mark.slow  # each starts unison several times
as_a_user = pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")


def _exit_code(pair: SyncedPair) -> int:
    return Synced(first="uni", folders=["p"], pairs=[pair]).exit_code()


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
    assert done.equal


def test_a_conflict_is_named_and_left_alone_while_the_rest_goes_on(equal: TwoHomes) -> None:
    written(equal.uni, {"p/d0/f0": "ours, longer", "p/new": "x"})
    written(equal.aws, {"p/d0/f0": "theirs"})
    done = equal.sync()
    assert done.conflicts == ["p/d0/f0"]
    assert (equal.uni / "p/d0/f0").read_text() == "ours, longer"
    assert (equal.aws / "p/d0/f0").read_text() == "theirs"
    assert (equal.aws / "p/new").read_text() == "x"
    assert Item(action="conflict", path="p/d0/f0") in equal.events


def test_a_conflict_is_told_with_what_happened_on_each_side(equal: TwoHomes) -> None:
    written(equal.uni, {"p/d0/f0": "ours, longer", "p/d1/f1": "ours"})
    (equal.aws / "p/d0/f0").unlink()
    (equal.aws / "p/d1/f1").write_text("theirs, longer")
    odd = os.fsdecode(b"p/\xff")
    written(equal.uni, {odd: "1"})
    written(equal.aws, {odd: "22"})
    done = equal.sync()
    assert {one.path: (one.first, one.other) for one in done.conflict_details} == {
        "p/d0/f0": ("changed", "deleted"),
        "p/d1/f1": ("changed", "changed"),
        "p/\\xff": ("new file", "new file"),
    }
    assert [one.path for one in done.conflict_details if not one.has_plain_name] == ["p/\\xff"]


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


def test_one_conflict_is_decided_alone(equal: TwoHomes) -> None:
    written(equal.uni, {"p/d0/f0": "ours, longer", "p/d1/f1": "ours, longer", "p/new": "x"})
    written(equal.aws, {"p/d0/f0": "theirs", "p/d1/f1": "theirs"})
    rules = equal.rules(paths=["p/d0/f0"], prefer=equal.pair().homes.other_root)
    assert equal.sync(rules=rules).conflicts == []
    assert (equal.uni / "p/d0/f0").read_text() == "theirs"
    assert (equal.uni / "p/d1/f1").read_text() == "ours, longer"
    assert (equal.aws / "p/d1/f1").read_text() == "theirs"
    assert not (equal.aws / "p/new").exists()
    assert equal.sync().conflicts == ["p/d1/f1"]


def test_the_preferred_side_wins_a_conflict(equal: TwoHomes) -> None:
    written(equal.uni, {"p/d0/f0": "ours, longer"})
    written(equal.aws, {"p/d0/f0": "theirs"})
    root = equal.pair().homes.other_root
    assert equal.sync(rules=equal.rules(prefer=root)).conflicts == []
    assert (equal.uni / "p/d0/f0").read_text() == "theirs"


def test_equal_files_of_different_times_are_no_conflict(homes: TwoHomes) -> None:
    for home, time_s in ((homes.uni, 1_600_000_000), (homes.aws, 1_700_000_000)):
        written(home, {"p/a": "same", "p/b": "same", "p/c": "same", "p/other": home.name})
        os.utime(home / "p/a", (time_s, time_s))
        os.utime(home / "p/b", (3_300_000_000 - time_s, 3_300_000_000 - time_s))
        os.utime(home / "p/c", (time_s, time_s))
        os.utime(home / "p/other", (time_s, time_s))
    (homes.aws / "p/c").chmod(0o600)
    planned = homes.sync(dry_run=True)
    assert planned.conflicts == ["p/c", "p/other"]
    done = homes.sync()
    assert (done.conflicts, done.same_contents) == (["p/c", "p/other"], ["p/c"])
    assert (done.to_first, done.to_profile) == (1, 1)
    for home in (homes.uni, homes.aws):
        assert [(home / name).stat().st_mtime for name in ("p/a", "p/b")] == [1_700_000_000] * 2
        assert (home / "p/other").read_text() == home.name
    assert (homes.aws / "p/c").stat().st_mode & 0o777 == 0o600
    assert (homes.uni / "p/c").stat().st_mode & 0o777 != 0o600
    written(homes.aws, {"p/a": "changed on one side"})
    assert homes.sync().to_first == 1
    assert (homes.uni / "p/a").read_text() == "changed on one side"


def test_a_decision_holds_beside_a_directory_of_which_something_stays(equal: TwoHomes) -> None:
    for name in ("p/d0/f0", "p/d1/f1"):
        written(equal.uni, {name: "ours, longer"})
        written(equal.aws, {name: "theirs"})
    written(equal.uni, {"p/u/good": "x"})
    os.mkfifo(equal.uni / "p/u/fifo")
    answers = iter(["other", "neither"])
    done = equal.sync(Person(decide=lambda *_: next(answers)))  # type: ignore[arg-type]  # winners
    assert done.conflicts == ["p/d1/f1"]
    assert (equal.uni / "p/d0/f0").read_text() == "theirs"
    assert (equal.uni / "p/d1/f1").read_text() == "ours, longer"
    assert (equal.aws / "p/d1/f1").read_text() == "theirs"
    assert (equal.aws / "p/u/good").exists()


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


def test_a_dry_run_tells_that_many_deletions_would_be_refused(equal: TwoHomes) -> None:
    for number in range(3):
        shutil.rmtree(equal.uni / f"p/d{number}")
    equal.sync(dry_run=True, allow_deletions=True)
    assert not any(isinstance(event, Warned) for event in equal.events)
    assert equal.sync(dry_run=True).deleted == 3
    (warned,) = (event for event in equal.events if isinstance(event, Warned))
    assert warned.code == "sync.many_deletions"
    assert "`aws` would lose 60 of 200 files" in warned.message
    assert "-ignorearchives" in warned.message


def test_a_lost_home_comes_back_as_the_hint_says(equal: TwoHomes) -> None:
    shutil.rmtree(equal.aws / "p")
    with pytest.raises(SyncManyDeletions) as met:
        equal.sync()
    assert "`scratchflow sync -- -ignorearchives`" in met.value.shown_hint
    done = equal.sync(rules=equal.rules(more=["-ignorearchives"]))
    assert (done.to_profile, done.deleted, done.conflicts) == (1, 0, [])
    assert content_of(equal.aws / "p") == content_of(equal.uni / "p")
    assert len(content_of(equal.aws / "p")) == len(MANY)


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


@pytest.mark.parametrize("cut_bytes", [3000, 20_000, 400_000, 2_000_000])
def test_a_link_that_is_cut_loses_nothing_and_the_next_run_goes_on(
    homes: TwoHomes, cut_bytes: int
) -> None:
    written(homes.aws, {f"p/big{number}": os.urandom(2000).hex() * 50 for number in range(20)})
    written(homes.uni, MANY)
    wanted = {**content_of(homes.uni / "p"), **content_of(homes.aws / "p")}
    homes.carrier = [sys.executable, str(Path(cut_after.__file__)), str(cut_bytes)]
    with pytest.raises(ConnectionLost, match="no connection to `login-aws`") as met:
        homes.sync()
    assert "`ssh login-aws` shows more" in met.value.shown_hint
    homes.carrier = []
    homes.sync()
    assert content_of(homes.uni / "p") == wanted
    assert content_of(homes.aws / "p") == wanted


def test_a_file_that_cannot_be_synced_is_a_warning(equal: TwoHomes) -> None:
    os.mkfifo(equal.uni / "p/fifo")
    written(equal.uni, {"p/new": "x"})
    done = equal.sync()
    assert [problem.path for problem in done.skipped] == ["p/fifo"]
    assert (done.conflicts, done.equal) == ([], False)
    warned = [event for event in equal.events if isinstance(event, Warned)]
    assert [(one.code, one.path) for one in warned] == [("sync.skipped", "p/fifo")]
    assert (equal.aws / "p/new").exists()
    again = equal.sync(dry_run=True)
    assert (again.equal, again.skipped) == (False, done.skipped)


def _hidden(path: Path) -> None:
    """A file that nobody reads; root does all the same, so those who need one are skipped then."""
    written(path.parent, {path.name: "x"})
    path.chmod(0)


@as_a_user
def test_a_file_that_cannot_be_read_is_named_and_gives_the_exit_code(equal: TwoHomes) -> None:
    written(equal.uni, {"p/new": "y"})
    _hidden(equal.uni / "p/secret")
    done = equal.sync()
    warned = [event for event in equal.events if isinstance(event, Warned)]
    assert [(one.code, one.path) for one in warned] == [("files.unreadable", "p/secret")]
    assert (equal.aws / "p/new").exists()
    assert _exit_code(done) == 103


@as_a_user
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_stays_behind_of_a_new_directory_is_named_with_its_reason(
    equal: TwoHomes, dry_run: bool
) -> None:
    written(equal.uni, {"p/u/good": "x"})
    written(equal.aws, {"p/v/good": "x"})
    _hidden(equal.uni / "p/u/secret")
    _hidden(equal.aws / "p/v/sec: ret")
    (equal.uni / "p/u/shut").mkdir(mode=0)
    os.mkfifo(equal.uni / "p/u/fifo")
    done = equal.sync(dry_run=dry_run)
    reasons = {problem.path: problem.reason for problem in done.skipped}
    assert set(reasons) == {"p/u/secret", "p/u/shut", "p/u/fifo", "p/v/sec: ret"}
    assert reasons.pop("p/u/fifo").endswith("unknown file type")
    assert all("Permission denied" in reason for reason in reasons.values())
    assert (done.to_profile, done.to_first, done.equal) == (1, 1, False)
    assert _exit_code(done) == 103
    assert (equal.aws / "p/u/good").exists() is not dry_run
    assert not (equal.aws / "p/u/secret").exists()
    (equal.uni / "p/u/shut").chmod(0o700)


def test_a_preferred_directory_with_a_pipe_in_it_is_part_of_the_plan(equal: TwoHomes) -> None:
    (equal.aws / "p/d0/f0").unlink()
    written(equal.uni, {"p/d0/f0": "changed here"})
    written(equal.aws, {"p/d0/f0/inner": "x"})
    os.mkfifo(equal.aws / "p/d0/f0/fifo")
    rules = equal.rules(prefer=equal.pair().homes.other_root)
    planned = equal.sync(rules=rules, dry_run=True)
    assert [change.path for change in planned.plan] == ["p/d0/f0"]
    done = equal.sync(rules=rules)
    assert (done.to_first, done.equal) == (1, False)
    assert [problem.path for problem in done.skipped] == ["p/d0/f0/fifo"]
    assert (equal.uni / "p/d0/f0/inner").read_text() == "x"


def test_many_deletions_beside_a_partial_directory_are_still_refused(equal: TwoHomes) -> None:
    for number in range(3):
        shutil.rmtree(equal.uni / f"p/d{number}")
    written(equal.uni, {"p/u/good": "x"})
    os.mkfifo(equal.uni / "p/u/fifo")
    with pytest.raises(SyncManyDeletions, match="`aws` would lose 60 of 200 files"):
        equal.sync()
    assert not (equal.aws / "p/u").exists()
    assert (equal.aws / "p/d0").exists()


@as_a_user
def test_what_cannot_be_written_is_named_with_the_whole_reason(equal: TwoHomes) -> None:
    written(equal.uni, {"p/d1/new": "x", "p/d2/new": "x"})
    (equal.aws / "p/d1").chmod(0o555)
    done = equal.sync()
    (equal.aws / "p/d1").chmod(0o755)
    assert [problem.path for problem in done.failed] == ["p/d1/new"]
    assert "Permission denied" in done.failed[0].reason
    assert (equal.aws / "p/d2/new").exists()
    assert (done.equal, _exit_code(done)) == (False, 103)


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


def test_what_unison_says_of_half_an_archive_is_said_whole(equal: TwoHomes) -> None:
    for archive in (equal.aws / ".unison").glob("ar*"):
        os.truncate(archive, 100)
    with pytest.raises(UnisonFailed, match=r"archives are not identical.*from scratch") as caught:
        equal.sync()
    assert "-ignorearchives" in caught.value.shown_hint
    assert equal.sync(rules=equal.rules(more=["-ignorearchives"])).to_first == 0
