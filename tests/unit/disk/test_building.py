"""A tree under construction: gone when its run ends or is killed, and never somebody else's."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scratchflow.disk.building import PREFIX, building_beside, sweep_beside

_WEEK_S = 7 * 86400
_BUILDS_AND_WAITS = """
import sys
from pathlib import Path
from scratchflow.disk.building import building_beside
with building_beside(Path(sys.argv[1]), "0123abcd") as tree:
    (tree / "half").write_text("x")
    print("building", flush=True)
    sys.stdin.read()
"""


def _leftover(parent: Path, **changes: object) -> Path:
    """What a killed run leaves."""
    outer = parent / f"{PREFIX}0123abcd"
    (outer / "tree").mkdir(parents=True)
    note = {"writer": "scratchflow", "host": os.uname().nodename, "locked": True}
    (outer / "restoring.json").write_text(json.dumps(note | changes))
    return outer


def test_what_did_not_take_its_place_is_removed(tmp_path: Path) -> None:
    with building_beside(tmp_path / "target", "0123abcd") as tree:
        assert tree.parent.parent == tmp_path
        (tree / "inside").mkdir(mode=0o500)
    assert os.listdir(tmp_path) == []


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), building_beside(tmp_path / "target", "0123abcd"):
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_a_tree_that_took_its_place_stays(tmp_path: Path) -> None:
    with building_beside(tmp_path / "target", "0123abcd") as tree:
        (tree / "file").write_text("x")
        tree.rename(tmp_path / "target")
    assert os.listdir(tmp_path) == ["target"]


def test_a_live_run_is_left_alone_and_a_killed_one_is_swept(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _BUILDS_AND_WAITS, str(tmp_path / "target")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as run:
        assert run.stdout
        run.stdout.readline()
        sweep_beside(tmp_path, time.time() + 2 * _WEEK_S)
        assert (tmp_path / f"{PREFIX}0123abcd/tree/half").exists()
        run.send_signal(signal.SIGKILL)
    sweep_beside(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("changes", [{"host": "elsewhere"}, {"locked": False}])
def test_where_no_lock_can_be_seen_a_week_has_to_pass(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    outer = _leftover(tmp_path, **changes)
    sweep_beside(tmp_path, time.time() + _WEEK_S - 60)
    assert outer.exists()
    sweep_beside(tmp_path, time.time() + _WEEK_S + 60)
    assert not outer.exists()


@pytest.mark.parametrize("changes", [{"writer": "me"}, {"locked": "perhaps"}])
def test_a_note_that_is_not_ours_keeps_everything(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    outer = _leftover(tmp_path, **changes)
    sweep_beside(tmp_path, time.time() + 2 * _WEEK_S)
    assert outer.exists()


@pytest.mark.parametrize("name", [f"{PREFIX}0123abcd.bak", f"{PREFIX}mine", "tree"])
def test_other_names_are_never_touched(tmp_path: Path, name: str) -> None:
    _leftover(tmp_path).rename(tmp_path / name)
    sweep_beside(tmp_path, time.time() + 2 * _WEEK_S)
    assert (tmp_path / name).exists()


@pytest.mark.parametrize("what", ["link", "fifo", "nothing"])
def test_a_note_that_is_no_file_is_not_followed_and_does_not_hang(
    tmp_path: Path, what: str
) -> None:
    outer = _leftover(tmp_path)
    note = outer / "restoring.json"
    real = note.rename(tmp_path / "real.json")
    if what == "link":
        note.symlink_to(real)
    elif what == "fifo":
        os.mkfifo(note)
    sweep_beside(tmp_path, time.time() + 2 * _WEEK_S)
    assert outer.exists()


def test_the_lock_of_another_run_is_respected_though_its_note_is_old(tmp_path: Path) -> None:
    outer = _leftover(tmp_path, host="elsewhere")
    with (outer / "restoring.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sweep_beside(tmp_path, time.time() + 2 * _WEEK_S)
    assert outer.exists()


@pytest.mark.parametrize("has_note", [False, True])
def test_a_run_killed_before_its_note_was_written_is_swept_after_an_hour(
    tmp_path: Path, has_note: bool
) -> None:
    outer = tmp_path / f"{PREFIX}0123abcd"
    outer.mkdir()
    if has_note:
        (outer / "restoring.json").touch()
    sweep_beside(tmp_path, now=time.time() + 3000)
    assert outer.exists(), "a live run may be about to write it"
    sweep_beside(tmp_path, now=time.time() + 3700)
    assert not outer.exists()


def test_a_directory_without_a_note_is_kept_when_anything_is_in_it(tmp_path: Path) -> None:
    outer = tmp_path / f"{PREFIX}0123abcd"
    outer.mkdir()
    (outer / "file").write_text("somebody's")
    sweep_beside(tmp_path, now=time.time() + _WEEK_S + 60)
    assert (outer / "file").read_text() == "somebody's"


def test_a_removal_that_is_killed_leaves_the_note_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = _leftover(tmp_path)
    removed: list[str] = []

    def die_after_the_first(path: Path) -> None:
        removed.append(path.name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("scratchflow.disk.building.remove_tree", die_after_the_first)
        with pytest.raises(KeyboardInterrupt):
            sweep_beside(tmp_path)
    assert removed == ["tree"]
    sweep_beside(tmp_path)
    assert not outer.exists()
