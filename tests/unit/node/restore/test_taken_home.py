"""Which files of a directory came from snapshots and were not changed since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.node.restore.taken_home import TakenHome, digest_of


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_file_is_known_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    TakenHome.read(tmp_path).with_more({"a": digest_of(file)}).write()
    assert TakenHome.read(tmp_path).is_unchanged("a")
    assert not TakenHome.read(tmp_path).is_unchanged("b")
    assert not TakenHome.read(tmp_path / "state").is_unchanged("a")
    TakenHome.read(tmp_path).with_more({"b": "c0ffee"}).write()
    assert TakenHome.read(tmp_path).is_unchanged("a")
    file.write_text("two")
    assert not TakenHome.read(tmp_path).is_unchanged("a")


def test_names_that_are_no_text_are_told_apart(tmp_path: Path) -> None:
    names = [os.fsdecode(b"\xff"), os.fsdecode(b"\xfe")]
    for name in names:
        (tmp_path / name).write_text(repr(name))
    TakenHome.read(tmp_path).with_more({names[0]: digest_of(tmp_path / names[0])}).write()
    found = TakenHome.read(tmp_path)
    assert [found.is_unchanged(name) for name in names] == [True, False]


def test_what_cannot_be_read_is_never_unchanged(tmp_path: Path) -> None:
    assert digest_of(tmp_path / "nothing") == ""
    TakenHome.read(tmp_path).with_more({"nothing": ""}).write()
    assert not TakenHome.read(tmp_path).is_unchanged("nothing")


def test_without_a_place_for_notes_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    TakenHome.read(tmp_path).with_more({"a": "c0ffee"}).write()
    assert TakenHome.read(tmp_path).digests == {}
