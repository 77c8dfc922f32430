"""What a job made is in the store whole; what it did not make, or what lies elsewhere, is not."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from scratchflow.node.job.collect import Collector
from scratchflow.node.job.copying import copy_whole
from scratchflow.workspace.workspace import STATE_NAME


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "copy/work"
    (top / "outputs/deep").mkdir(parents=True)
    (top / "outputs/old").write_text("from the snapshot")
    (top / "outputs/grows").write_text("1")
    return top


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()  # the directory of the job, which submit makes
    return tmp_path / "store/outputs/0"


def test_new_and_changed_files_are_saved_and_old_ones_are_not(top: Path, target: Path) -> None:
    collector = Collector(top, target, ["*.pt"])
    (top / "outputs/deep/new").write_text("made")
    (top / "outputs/grows").write_text("12")
    (top / "model.pt").write_bytes(b"weights")
    (top / "other.txt").write_text("not asked for")
    found = collector.collect()
    assert found.paths == ("model.pt", "outputs/deep/new", "outputs/grows")
    assert (found.files, found.bytes, found.failed) == (3, 13, ())
    assert (target / "outputs/deep/new").read_text() == "made"
    assert not (target / "outputs/old").exists()
    assert not (target / "other.txt").exists()


def test_what_an_earlier_run_saved_still_counts(top: Path, target: Path) -> None:
    first = Collector(top, target, [])
    (top / "outputs/a").write_text("1")
    (top / "outputs/b").write_text("1")
    first.collect()
    (target / "outputs/.tmp-left").write_text("half")
    (top / "outputs/a").unlink()
    (top / "outputs/b").unlink()
    again = Collector(top, target, [])
    (top / "outputs/b").write_text("12")
    found = again.collect()
    assert (found.paths, found.bytes) == (("outputs/a", "outputs/b"), 3)
    assert (target / "outputs/b").read_text() == "12"


def test_a_second_look_saves_what_came_since_and_removes_nothing(top: Path, target: Path) -> None:
    collector = Collector(top, target, [])
    (top / "outputs/a").write_text("1")
    collector.collect()
    (top / "outputs/a").unlink()
    (top / "outputs/grows").write_text("123")
    assert collector.collect().paths == ("outputs/a", "outputs/grows")
    assert (target / "outputs/a").read_text() == "1"
    assert (target / "outputs/grows").read_text() == "123"


def test_a_link_stays_a_link_and_leads_nobody_out(top: Path, target: Path) -> None:
    collector = Collector(top, target, [])
    secret = top.parent.parent / "secret"
    secret.mkdir()
    (secret / "file").write_text("x")
    (top / "outputs/link").symlink_to(secret)
    collector.collect()
    assert os.readlink(target / "outputs/link") == str(secret)
    assert sorted(path.name for path in target.rglob("*")) == ["link", "outputs"]


def test_of_a_link_out_of_the_copy_it_is_told_that_what_is_behind_it_was_not_saved(
    top: Path, target: Path, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (top / "data").symlink_to(away)
    (top / "outputs/from-snapshot").symlink_to(tmp_path / "README")
    (tmp_path / "README").write_text("the user's own")
    collector = Collector(top, target, ["data", "runs/*"])
    assert collector.collect().links_out == (_outside("data", away),)
    (away / "precious").write_text("made")
    (top / "outputs/deep/more").symlink_to(away)
    (top / "outputs/one").symlink_to(away / "precious")
    (top / "outputs/inside").symlink_to("deep")
    (top / "outputs/broken").symlink_to(tmp_path / "nowhere")
    (top / "runs").symlink_to(away)
    found = collector.collect()
    assert found.links_out == (
        _outside("data", away),
        _outside("outputs/deep/more", away),
        _outside("outputs/one", away / "precious"),
    )
    assert (target / "runs/precious").read_text() == "made"


def test_what_is_behind_a_link_to_a_place_beside_the_workspace_in_the_copy_is_saved(
    top: Path, target: Path
) -> None:
    collector = Collector(top, target, ["notes"])
    beside = top.parent / "data"
    (beside / "deep").mkdir(parents=True)
    (beside / "deep/a").write_text("made")
    shutil.rmtree(top / "outputs")
    (top / "outputs").symlink_to("../data")
    (top.parent / STATE_NAME).mkdir(exist_ok=True)
    (top.parent / STATE_NAME / "note").write_text("ours")
    (top / "notes").symlink_to(top.parent / STATE_NAME)  # those are ours, and no work of the job
    found = collector.collect()
    assert (found.paths, found.links_out) == (("notes", "outputs/deep/a"), ())
    assert (target / "outputs/deep/a").read_text() == "made"
    assert (target / "notes").is_symlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_place_beside_the_workspace_is_opened_when_the_command_is_over(
    top: Path, target: Path
) -> None:
    collector = Collector(top, target, [])
    beside = top.parent / "data"
    beside.mkdir()
    (beside / "a").write_text("made")
    shutil.rmtree(top / "outputs")
    (top / "outputs").symlink_to("../data")
    beside.chmod(0)
    assert "data" in "".join(collector.collect().failed)
    found = collector.collect(is_last=True)
    assert (found.failed, found.paths) == ((), ("outputs/a",))
    assert (target / "outputs/a").read_text() == "made"


def test_what_is_behind_a_link_to_a_directory_that_it_lies_in_is_told(
    top: Path, target: Path
) -> None:
    collector = Collector(top, target, ["up", "one"])
    (top / "up").symlink_to("..")
    assert collector.collect().left_out == ()  # nothing is new there besides
    (top / "one").write_text("collected by itself")
    assert collector.collect().left_out == ()
    (top / "two").write_text("made")
    found = collector.collect()
    assert "up" in found.paths
    (line,) = found.left_out
    assert line.startswith("up: a link to a directory that it lies in itself; what is new there")


def test_outputs_that_are_a_link_out_of_the_copy_are_told(tmp_path: Path, target: Path) -> None:
    top, away = tmp_path / "copy/work", tmp_path / "away"
    top.mkdir(parents=True)
    away.mkdir()
    collector = Collector(top, target, [])
    (top / "outputs").symlink_to(away)
    (away / "x").write_text("made")
    assert collector.collect().links_out == (_outside("outputs", away),)


def test_what_a_pattern_finds_behind_a_link_is_saved_in_place_of_the_link(
    tmp_path: Path, target: Path
) -> None:
    top, away = tmp_path / "copy/work", tmp_path / "away"
    top.mkdir(parents=True)
    away.mkdir()
    collector = Collector(top, target, ["outputs/*"])
    (top / "outputs").symlink_to(away)
    collector.collect()
    (away / "x").write_text("made")
    found = collector.collect()
    assert (found.paths, found.failed, found.links_out) == (("outputs/x",), (), ())
    assert (target / "outputs").is_symlink() is False
    assert (target / "outputs/x").read_text() == "made"


@pytest.mark.parametrize("leads", ["first", "/away", "nowhere"])
def test_a_directory_that_was_a_link_when_it_was_saved_replaces_nothing_behind_the_link(
    top: Path, target: Path, leads: str
) -> None:
    away = top.parent / "away"
    away.mkdir()
    collector = Collector(top, target, [])
    (top / "outputs/first").mkdir()
    (top / "outputs/first/model").write_text("first")
    (top / "outputs/latest").symlink_to(away if leads == "/away" else leads)
    assert collector.collect().files == 2
    (top / "outputs/latest").unlink()
    (top / "outputs/latest").mkdir()
    (top / "outputs/latest/model").write_text("second")
    found = collector.collect()
    assert (found.paths, found.failed) == (("outputs/first/model", "outputs/latest/model"), ())
    assert (target / "outputs/first/model").read_text() == "first"
    assert (target / "outputs/latest/model").read_text() == "second"
    assert list(away.iterdir()) == []


def test_a_link_that_was_saved_for_good_stays_when_a_directory_has_its_place(
    top: Path, target: Path, tmp_path: Path
) -> None:
    first = Collector(top, target, [])
    (top / "outputs/latest").symlink_to("deep")
    first.collect()
    (top / "outputs/latest").unlink()
    (top / "outputs/latest").mkdir()
    (top / "outputs/latest/x").write_text("later")
    beside = tmp_path / "store/outputs/0@n.later"
    Collector(top, target, [], all_of_it=True, beside=beside).collect()
    assert os.readlink(target / "outputs/latest") == "deep"
    assert (beside / "outputs/latest/x").read_text() == "later"


def test_what_appears_behind_a_link_in_the_copy_after_the_link_was_saved_is_saved(
    top: Path, target: Path
) -> None:
    (top / "checkpoints").mkdir()
    collector = Collector(top, target, [])
    (top / "outputs/best").symlink_to("../checkpoints")
    collector.collect()
    assert os.readlink(target / "outputs/best") == "../checkpoints"
    (top / "checkpoints/1.pt").write_text("weights")
    found = collector.collect()
    assert (found.paths, found.failed) == (("outputs/best/1.pt",), ())
    assert (target / "outputs/best/1.pt").read_text() == "weights"


def _outside(path: str, real: Path) -> str:
    return (
        f"{path}: a link to `{real}`, which is outside the job's copy; what is there was not saved"
    )


def test_a_pipe_is_left_out_and_a_closed_file_is_not_saved_and_both_are_named(
    top: Path, target: Path
) -> None:
    collector = Collector(top, target, ["out*"])
    os.mkfifo(top / "outputs/pipe")
    closed = top / "outputs/closed"
    closed.write_text("x")
    closed.chmod(0)
    found = collector.collect()
    assert found.files == (1 if os.geteuid() == 0 else 0)
    assert [line.partition(":")[0] for line in found.failed] == (
        [] if os.geteuid() == 0 else ["outputs/closed"]
    )
    assert found.left_out == ("outputs/pipe: a pipe",)
    (top / "outputs/pipe").unlink()
    assert collector.collect().left_out == ()


def test_files_are_private_and_keep_their_time(top: Path, target: Path) -> None:
    collector = Collector(top, target, [])
    made = top / "outputs/run.sh"
    made.write_text("x")
    made.chmod(0o755)
    os.utime(made, ns=(1, 10**18))
    collector.collect()
    found = (target / "outputs/run.sh").stat()
    assert (found.st_mode & 0o777, found.st_mtime_ns) == (0o700, 10**18)


def test_the_next_run_begins_with_what_the_last_one_had(top: Path, target: Path) -> None:
    first = Collector(top, target, ["*.pt"])
    (top / "outputs/new").write_text("made")
    (top / "outputs/gone").write_text("x")
    first.collect()
    (top / "outputs/gone").unlink()
    (top / "outputs/old").unlink()
    (top / "outputs/grows").write_text("12")
    first.collect()
    again = top.parent / "again"
    (again / "outputs").mkdir(parents=True)
    (again / "outputs/old").write_text("from the snapshot")
    (again / "outputs/grows").write_text("1")
    second = Collector(again, target, ["*.pt"])
    second.put_back(first.present)
    found = {path.name: path.read_text() for path in (again / "outputs").iterdir()}
    assert found == {"new": "made", "grows": "12"}
    os.utime(target / "outputs/new", ns=(1, 1))
    (again / "outputs/later").write_text("later")
    # What an earlier run had put into the store and then deleted is still there.
    stored = ("outputs/gone", "outputs/grows", "outputs/later", "outputs/new")
    assert second.collect().paths == stored
    # What came from the store is not sent there again.
    assert (target / "outputs/new").stat().st_mtime_ns == 1


def test_what_is_put_back_has_the_mode_that_it_had(top: Path, target: Path) -> None:
    first = Collector(top, target, [])
    modes = {"open": 0o664, "closed": 0o400, "run": 0o755}
    for name, mode in modes.items():
        (top / "outputs" / name).write_text(name)
        (top / "outputs" / name).chmod(mode)
    first.collect()
    (again := top.parent / "again").mkdir()
    second = Collector(again, target, [])
    second.put_back(first.present)
    found = {name: (again / "outputs" / name).stat().st_mode & 0o777 for name in modes}
    assert found == modes
    # They count as saved: with their new modes, too.
    os.utime(target / "outputs/open", ns=(1, 1))
    second.collect()
    assert (target / "outputs/open").stat().st_mtime_ns == 1


def test_the_clock_of_files_may_lag_behind_that_of_programs(
    top: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 10**9)
    (top / "big").mkdir()
    (top / "outputs/best").symlink_to("../big")
    collector = Collector(top, target, [])
    (top / "big/new").write_text("made")
    collector.collect()
    assert (target / "outputs/best/new").read_text() == "made"


def test_what_was_made_behind_a_link_is_put_back_behind_it(top: Path, target: Path) -> None:
    def with_link(copy: Path) -> Path:
        (copy / "outputs").mkdir(parents=True, exist_ok=True)
        (copy / "big").mkdir()
        (copy / "big/old").write_text("from the snapshot")
        os.utime(copy / "big/old", ns=(1, 1))
        (copy / "outputs/best").symlink_to("../big")
        time.sleep(0.02)  # more than a step of the clock of files: it was there before
        return copy

    first = Collector(with_link(top), target, [])
    (top / "big/new").write_text("made")
    first.collect()
    assert "outputs/best/new" in first.present
    again = with_link(top.parent / "again")
    second = Collector(again, target, [])
    second.put_back(first.present)
    assert os.readlink(again / "outputs/best") == "../big"
    assert (again / "big/new").read_text() == "made"
    assert (again / "outputs/best/old").read_text() == "from the snapshot"


def test_what_is_put_back_replaces_what_is_in_its_way_and_follows_no_link(
    top: Path, target: Path
) -> None:
    elsewhere = top.parent / "elsewhere"
    elsewhere.mkdir()
    (target / "outputs/deep").mkdir(parents=True)
    (target / "outputs/deep/x").write_text("x")
    (target / "outputs/old").symlink_to("grows")
    (target / "outputs/.tmp-0123").write_text("half of a copy")
    (top / "outputs/deep").rmdir()
    (top / "outputs/deep").symlink_to(elsewhere)
    Collector(top, target, []).put_back(None)
    assert (top / "outputs/deep/x").read_text() == "x"
    assert list(elsewhere.iterdir()) == []
    assert os.readlink(top / "outputs/old") == "grows"
    assert (top / "outputs/grows").read_text() == "1"
    assert not (top / "outputs/.tmp-0123").exists()


def test_a_file_that_is_written_again_at_once_is_saved_again(top: Path, target: Path) -> None:
    collector = Collector(top, target, [])
    new = top / "outputs/new"
    new.write_text("first")
    collector.collect()
    stamp = new.stat()
    new.write_text("later")  # of the same size
    os.utime(new, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    collector.collect()
    assert (target / "outputs/new").read_text() == "later"


def test_a_new_directory_that_cannot_be_listed_is_told(top: Path, target: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root lists every directory")
    collector = Collector(top, target, [])
    (top / "outputs/closed").mkdir()
    (top / "outputs/closed/file").write_text("result")
    (top / "outputs/closed").chmod(0)
    try:
        assert collector.collect().failed == ("outputs/closed/: Permission denied",)
        # One that was closed before the command ran is not its work.
        assert Collector(top, target, []).collect().failed == ()
    finally:
        (top / "outputs/closed").chmod(0o700)


def test_what_lies_in_a_directory_that_may_only_be_listed_is_not_passed_over(
    top: Path, target: Path
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root enters every directory")
    collector = Collector(top, target, ["outputs/*/file"])
    (top / "outputs/closed").mkdir()
    (top / "outputs/closed/file").write_text("result")
    (top / "outputs/closed").chmod(0o400)
    assert collector.collect().failed == ("outputs/closed/: Permission denied",)
    assert collector.collect(is_last=True).failed == ()
    assert (target / "outputs/closed/file").read_text() == "result"


def test_directories_behind_a_link_out_of_the_copy_stay_closed(
    top: Path, target: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs/closed"
    theirs.mkdir(parents=True)
    collector = Collector(top, target, ["link/closed/*", "link/*"])
    (top / "link").symlink_to(theirs.parent)
    theirs.chmod(0)
    collector.collect(is_last=True)
    assert theirs.stat().st_mode & 0o777 == 0


def test_what_a_link_leads_to_in_the_copy_is_collected_when_it_is_new(
    top: Path, target: Path
) -> None:
    (top / "data").mkdir()
    (top / "data/set").write_text("from the snapshot")
    begun_ns = (top / "data/set").stat().st_ctime_ns + 1
    collector = Collector(top, target, ["runs.link"], since_ns=begun_ns)
    while time.time_ns() < begun_ns + 10**8:  # until a new file has a later change time
        (top / "clock").write_text("")
        if (top / "clock").stat().st_ctime_ns >= begun_ns:
            break
    (top / "runs/7").mkdir(parents=True)
    (top / "runs/7/model.pt").write_text("model")
    (top / "runs.link").symlink_to("runs/7")
    (top / "outputs/best.pt").symlink_to("../runs/7/model.pt")
    (top / "outputs/data").symlink_to("../data")
    (top / "outputs/inside").symlink_to("grows")
    (top / "outputs/out").symlink_to("/etc/passwd")
    (top / "outputs/loop").symlink_to("..")
    (top / "outputs/grows").write_text("12")
    found = collector.collect()
    assert found.failed == ()
    assert (target / "runs.link/model.pt").read_text() == "model"
    best = target / "outputs/best.pt"
    assert (best.is_symlink(), best.read_text()) == (False, "model")
    links = {name: os.readlink(target / "outputs" / name) for name in ("data", "inside", "out")}
    assert links == {"data": "../data", "inside": "grows", "out": "/etc/passwd"}
    assert found.bytes == len("model") * 2 + len("12")
    assert collector.collect() == found


def test_what_a_copy_has_saved_already_is_not_copied_again(
    top: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    # As if everything had been written a while ago.
    monkeypatch.setattr("scratchflow.node.job.copying._RACY_NS", -(10**12))
    collector = Collector(top, target, [])
    (top / "outputs/big").write_text("x" * 1000)
    (top / "outputs/changed").write_text("one")
    (top / "outputs/closed").write_text("result")
    (top / "outputs/closed").chmod(0)
    os.utime(top / "outputs/changed", ns=(1, 10**18))
    assert len(collector.collect().failed) == 1
    inode = (target / "outputs/big").stat().st_ino
    (top / "outputs/changed").write_text("two")
    os.utime(top / "outputs/changed", ns=(1, 10**18))
    later = Collector(top, target, [], all_of_it=True).collect()
    assert len(later.failed) == 1
    assert (target / "outputs/big").stat().st_ino == inode
    assert (target / "outputs/changed").read_text() == "two"
    (target / "outputs/big").unlink()
    Collector(top, target, [], all_of_it=True).collect()
    assert (target / "outputs/big").stat().st_size == 1000
    (top / "outputs/closed").chmod(0o600)
    assert Collector(top, target, [], all_of_it=True).collect().failed == ()
    assert (target / "outputs/closed").read_text() == "result"


def test_half_a_copy_of_a_killed_run_goes_after_a_day(
    top: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = target / "outputs/.tmp-0123"
    half.parent.mkdir(parents=True)
    half.write_text("half")
    Collector(top, target, [])
    assert half.exists(), "somebody may be writing it"
    monkeypatch.setattr("scratchflow.node.job.collect._HALF_S", -60)
    Collector(top, target, [])
    assert not half.exists()


def test_of_a_copy_that_was_left_only_what_the_job_made_is_saved(top: Path, target: Path) -> None:
    """A crashed node: what was in the snapshot and did not change is not the job's work there either."""
    (top / "outputs").mkdir(exist_ok=True)
    for name in ("old", "changed", "touched"):
        (top / "outputs" / name).write_text("1")
    Collector(top, target, [])  # the job began, and died
    (top / "outputs/new").write_text("2")
    (top / "outputs/changed").write_text("22")
    os.utime(top / "outputs/touched", (0, 0))
    Collector(top, target, [], all_of_it=True).collect()
    assert sorted(os.listdir(target / "outputs")) == ["changed", "new", "touched"]


def test_without_a_note_of_how_it_began_all_of_it_is_saved(top: Path, target: Path) -> None:
    (top / "outputs").mkdir(exist_ok=True)
    (top / "outputs/old").write_text("1")
    Collector(top, target, [])
    for note in top.parent.rglob("before"):
        note.write_bytes(b"half")
    Collector(top, target, [], all_of_it=True).collect()
    assert (target / "outputs/old").read_text() == "1"


def test_what_was_saved_for_good_stays_and_what_differs_goes_beside_it(
    top: Path, target: Path
) -> None:
    """A process that the job left behind goes on writing to a copy that could not be removed."""
    collector = Collector(top, target, [])
    for name in ("grow", "same"):
        (top / "outputs" / name).write_text("as it was at the end")
    (top / "outputs/link").symlink_to("same")
    collector.collect()
    (top / "outputs/grow").write_text("anew")
    (top / "outputs/late").write_text("a new name")
    beside = target.with_name("0@node.later")
    Collector(top, target, [], all_of_it=True, beside=beside).collect()
    assert (target / "outputs/grow").read_text() == "as it was at the end"
    assert (target / "outputs/late").read_text() == "a new name"
    assert {path.name: path.read_text() for path in (beside / "outputs").iterdir()} == {
        "grow": "anew"
    }


def test_what_could_not_be_saved_then_takes_its_place_later(top: Path, target: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    collector = Collector(top, target, [])
    for name in ("a", "b"):
        (top / "outputs" / name).write_text("early")
    collector.collect()
    (top / "outputs/a").write_text("at the end")
    (top / "outputs/a").chmod(0)
    assert collector.collect().failed == ("outputs/a: Permission denied",)
    (top / "outputs/a").chmod(0o600)
    (top / "outputs/b").write_text("afterwards")
    beside = target.with_name("0@node.later")
    found = Collector(top, target, [], all_of_it=True, beside=beside).collect()
    assert found.failed == ()
    assert (target / "outputs/a").read_text() == "at the end"
    assert (target / "outputs/b").read_text() == "early"
    assert (beside / "outputs/b").read_text() == "afterwards"


def test_where_the_store_is_away_its_mount_point_gets_nothing(top: Path, target: Path) -> None:
    collector = Collector(top, target, [])
    store = target.parent.parent
    store.rename(store.with_name("elsewhere"))
    (top / "outputs/new").write_text("made")
    with pytest.raises(OSError, match="No such file"):
        collector.collect()
    assert not store.exists()
    store.with_name("elsewhere").rename(store)
    assert collector.collect().files == 1


def test_what_was_copied_while_the_store_went_away_is_not_saved(
    top: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = Collector(top, target, [])
    store = target.parent.parent
    (top / "outputs/new").write_text("made")

    def goes_away(source: Path, place: Path) -> object:
        store.rename(store.with_name("elsewhere"))
        return copy_whole(source, place)  # its mount point takes files, too

    with monkeypatch.context() as patch:
        patch.setattr("scratchflow.node.job.collect.copy_whole", goes_away)
        with pytest.raises(OSError, match="went away"):
            collector.collect()
    store.rename(store.with_name("mount-point"))
    store.with_name("elsewhere").rename(store)
    assert collector.collect().paths == ("outputs/new",)
    assert (target / "outputs/new").read_text() == "made"


def test_at_the_end_what_counts_as_saved_is_there(
    top: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store may have been away and come back between two looks."""
    monkeypatch.setattr("scratchflow.node.job.copying._RACY_NS", -(10**12))
    collector = Collector(top, target, [])
    for name in ("gone", "cut", "stays"):
        (top / "outputs" / name).write_text("made")
    collector.collect()
    (target / "outputs/gone").unlink()
    (target / "outputs/cut").write_text("m")
    assert collector.collect().files == 3
    assert not (target / "outputs/gone").exists()
    assert collector.collect(is_last=True).files == 3
    assert {file.read_text() for file in target.glob("outputs/*")} == {"made"}


def test_what_is_neither_in_the_store_nor_in_the_copy_any_more_is_told(
    top: Path, target: Path
) -> None:
    collector = Collector(top, target, [])
    (top / "outputs/new").write_text("made")
    collector.collect()
    (target / "outputs/new").unlink()
    (top / "outputs/new").unlink()
    found = collector.collect(is_last=True)
    assert found.files == 0
    assert found.failed == ("outputs/new: it is not in the store any more, nor in the job's copy",)
