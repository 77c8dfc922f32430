"""Where the work went is known until it is back, or somebody goes on without it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.config.settings import Asked, Settings
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.moved import forget_move, moved_in_words, note_move, read_move


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A profile `a`, beside `b`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    config = tmp_path / "config.toml"
    config.write_text("".join(f'[profiles.{name}]\nlogin = "{name}"\n' for name in ("a", "b")))
    asked = Asked(config=str(config), profile="a")
    return Caller(asked, {"HOME": str(tmp_path), "PATH": ""}).settings()


def test_it_is_told_until_it_is_forgotten(left: Settings) -> None:
    assert read_move(left) is None
    note_move("a", "b")
    moved = read_move(left)
    assert moved is not None
    what, how = moved_in_words("a", moved)
    assert what == "the work went to profile `b` (just now)"
    assert "`scratchflow -p b up`" in how
    assert "`scratchflow -p b hop --to a`" in how
    forget_move("a")
    forget_move("a")
    assert read_move(left) is None


def test_a_profile_that_is_gone_is_not_named(left: Settings) -> None:
    note_move("a", "gone")
    assert read_move(left) is None


def test_of_a_note_that_cannot_be_read_nothing_is_known(left: Settings, tmp_path: Path) -> None:
    note_move("a", "b")
    (file,) = (tmp_path / "state").rglob("a.json")
    file.write_bytes(msgspec.json.encode({"to": 7}))
    assert read_move(left) is None


def test_a_note_that_cannot_be_removed_ends_nothing(left: Settings, tmp_path: Path) -> None:
    note_move("a", "b")
    (file,) = (tmp_path / "state").rglob("a.json")
    file.unlink()
    file.mkdir()  # what nobody can unlink, not even root
    forget_move("a")
    assert file.is_dir()
    assert read_move(left) is None
