"""The agent's name: that of its directory, what was noted while no file has changed, else by content."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

import scratchflow
from scratchflow import __version__
from scratchflow.agent import name as naming
from scratchflow.agent.delivery import source
from scratchflow.agent.name import agent_name, note_agent_name, own_command

CONTENT = source.agent_name()
OTHER = f"{__version__}-0123456789ab"


class Package:
    """A copy of the package, as `scratchflow` finds its own files; long settled."""

    def __init__(self, parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = parent / "scratchflow"
        self.computed = 0
        self._patch = monkeypatch
        top = Path(scratchflow.__file__).parent
        for inner in ("__init__.py", "agent/name.py", "testing/store.py"):
            (self.directory / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(top / inner, self.directory / inner)
        monkeypatch.setattr(scratchflow, "__file__", str(self.directory / "__init__.py"))
        monkeypatch.setattr(source, "agent_name", self._compute)
        monkeypatch.setattr(naming, "_SETTLED_S", -60.0)

    def _compute(self) -> str:
        self.computed += 1
        return OTHER if self.computed > 1 else CONTENT

    def next_command(self) -> str:
        """What another process would find."""
        self._patch.setattr(naming, "_known", [])
        return agent_name()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "state"))
    return Package(tmp_path / "site", monkeypatch)


def test_the_files_are_read_once_and_not_again_by_the_next_command(package: Package) -> None:
    assert [package.next_command() for _ in range(3)] == [CONTENT] * 3
    assert package.computed == 1


@pytest.mark.parametrize("change", ["content", "new", "removed", "same size and time"])
def test_any_change_to_a_file_counts(package: Package, change: str) -> None:
    package.next_command()
    file = package.directory / "agent/name.py"
    if change == "content":
        file.write_text("pass\n")
    elif change == "new":
        (package.directory / "new.py").touch()
    elif change == "removed":
        file.unlink()
    else:
        before = file.stat()
        file.write_bytes(file.read_bytes().replace(b"a", b"b"))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert package.next_command() == OTHER


def test_what_no_agent_is_given_does_not_count(package: Package) -> None:
    package.next_command()
    (package.directory / "testing/store.py").write_text("pass\n")
    (package.directory / "__pycache__").mkdir()
    (package.directory / "__pycache__/x.pyc").touch()
    assert package.next_command() == CONTENT


def test_files_that_changed_just_now_are_not_trusted(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "_SETTLED_S", 3600.0)
    package.next_command()
    assert package.next_command() == OTHER


@pytest.mark.parametrize("note", [b"", b"x", b"\xff\xff", b"fingerprint ../../evil", b"a" * 5000])
def test_a_note_that_makes_no_sense_is_passed_over(
    package: Package, tmp_path: Path, note: bytes
) -> None:
    package.next_command()
    path = tmp_path / "state/scratchflow/agent-name"
    assert path.exists()
    path.write_bytes(note)
    assert package.next_command() == OTHER


def test_without_a_place_for_the_note_the_name_is_found_all_the_same(
    package: Package, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file")
    assert package.next_command() == CONTENT


def test_an_agent_is_told_by_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "state"))
    home = tmp_path / "agent"
    package = Package(home / OTHER / "cp311-x86_64/lib", monkeypatch)
    assert (package.next_command(), package.computed) == (OTHER, 0)
    (home / "current").symlink_to(OTHER)
    through = home / "current/cp311-x86_64/lib/scratchflow/__init__.py"
    monkeypatch.setattr(scratchflow, "__file__", str(through))
    assert (package.next_command(), package.computed) == (OTHER, 0)
    assert note_agent_name() == CONTENT
    assert not (tmp_path / "state").exists()


def test_an_agent_starts_itself_by_its_own_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "agent" / OTHER / "cp311-x86_64" / "lib" / "scratchflow"
    directory.mkdir(parents=True)
    start = tmp_path / "agent" / OTHER / "start"
    start.touch()
    assert own_command("agent") == [sys.executable, "-m", "scratchflow", "agent"]
    monkeypatch.setattr(scratchflow, "__file__", str(directory / "__init__.py"))
    shell, script, word = own_command("agent")
    assert (shell, word) == ("sh", "agent")
    assert os.path.samefile(script, start)


@pytest.mark.parametrize("inner", ["agent/9.9-0123456789ab/p/lib", f"other/{OTHER}/p/lib"])
def test_other_directories_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inner: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "state"))
    assert Package(tmp_path / inner, monkeypatch).next_command() == CONTENT


def test_a_clock_that_is_wrong_costs_only_time(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "_SETTLED_S", 5.0)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert package.next_command() == CONTENT
