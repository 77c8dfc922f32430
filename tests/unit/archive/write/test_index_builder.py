"""The index of a new archive, also when files vanish while it is written."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.read import verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.scan import reread as looking
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write import writer
from scratchflow.archive.write.archive_out import FRAME_BYTES
from tests.unit.archive.conftest import Bench, fill, tree_state


def _write(bench: Bench, planned: writer.Plan, when_busy: object = None) -> Index:
    """Writes archive A; `when_busy` is called when a frame full of content has been sent off."""
    calls: list[object] = [when_busy] if when_busy else []

    def progress(_phase: str, _files: int, _of: int, bytes_done: int, _bytes: int) -> None:
        if calls and bytes_done >= FRAME_BYTES // 2:
            action = calls.pop()
            assert callable(action)
            action()

    with bench.path("A").open("wb", buffering=0) as out:
        writer.write(planned, out, archive_id="A", warn=bench.warn, progress=progress)
    assert verify.verify_archive(bench.path("A")) == []
    return open_index(bench.path("A"))


def test_file_vanishing_after_the_scan_is_left_out(bench: Bench) -> None:
    fill(bench.work)
    planned = bench.plan()
    (bench.work / "data").unlink()
    (bench.work / "bin" / "tool").unlink()
    index = _write(bench, planned)
    assert {code for code, _, _ in bench.warnings} == {"files.vanished"}
    assert index.find(b"work/data") is None
    assert tree_state(bench.restore(index)).keys() == tree_state(bench.scratch).keys()
    assert bench.plan(index, cache=False).unchanged


def test_first_name_of_a_hardlinked_file_vanishing(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        if name == "a":
            (bench.work / name).write_bytes(b"shared")
        else:
            os.link(bench.work / "a", bench.work / name)
    planned = bench.plan()
    (bench.work / "a").unlink()
    restored = bench.restore(_write(bench, planned)) / "work"
    assert (restored / "b").read_bytes() == b"shared"
    assert (restored / "b").samefile(restored / "c")


def test_first_name_of_a_hardlinked_file_replaced_before_it_is_read(bench: Bench) -> None:
    """The other names keep the old file, whatever lies at the first name now."""
    (bench.work / "a").write_bytes(b"shared")
    for name in ("b", "c"):
        os.link(bench.work / "a", bench.work / name)
    planned = bench.plan()
    (bench.work / "new").write_bytes(b"edited")
    (bench.work / "new").rename(bench.work / "a")
    restored = bench.restore(_write(bench, planned)) / "work"
    assert (restored / "a").read_bytes() == b"edited"
    assert (restored / "b").read_bytes() == (restored / "c").read_bytes() == b"shared"
    assert (restored / "b").samefile(restored / "c")


def test_a_first_name_that_vanishes_does_not_break_the_known_ones(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new name sorts before the known ones, becomes the first, and is gone when it is read."""
    (bench.work / "b").write_bytes(b"shared")
    os.link(bench.work / "b", bench.work / "d")
    (bench.work / "c").write_bytes(b"other")
    first = bench.backup("A")
    os.link(bench.work / "b", bench.work / "a")
    look_at = looking.Looker.look_at

    def then_vanish(looker: looking.Looker, entries: list[int]) -> None:
        look_at(looker, entries)
        (bench.work / "a").unlink(missing_ok=True)

    monkeypatch.setattr(looking.Looker, "look_at", then_vanish)
    planned = bench.plan(first)
    restored = bench.restore(bench.write(planned, "B")) / "work"
    assert (restored / "b").read_bytes() == (restored / "d").read_bytes() == b"shared"
    assert (restored / "b").samefile(restored / "d")
    assert (restored / "c").read_bytes() == b"other"
    assert not (restored / "a").exists()
