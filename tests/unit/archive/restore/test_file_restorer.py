"""Files come back on all cores: what one process could not do, another does."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from scratchflow.archive.restore import extract
from scratchflow.archive.restore import file_restorer as contents
from scratchflow.archive.restore.placer import Placer
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import FRAME_BYTES
from tests.unit.archive.conftest import (
    Bench,
    fill,
    tree_state,
)


@pytest.fixture(autouse=True)
def always_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "usable_cores", lambda: 3)
    monkeypatch.setattr(contents, "_FILES_EACH", 1)


def many_frames(bench: Bench) -> Index:
    """Enough for everybody: small files in many frames, large ones, and links to both."""
    fill(bench.work)
    for number in range(60):
        (bench.work / f"{number}").write_bytes(os.urandom(FRAME_BYTES // 10))
    for number in range(4):
        (bench.work / f"large-{number}").write_bytes(os.urandom(FRAME_BYTES + 1000 * number))
    os.link(bench.work / "7", bench.work / "seven")
    os.link(bench.work / "large-1", bench.work / "z-large")
    return bench.backup("A")


def only_in_helpers(
    monkeypatch: pytest.MonkeyPatch, trouble: Callable[[], None], method: str = "small_file"
) -> None:
    """Something happens with every file, except in the process that asks."""
    asker, untroubled = os.getpid(), getattr(Placer, method)

    def troubled(*given: object) -> None:
        if os.getpid() != asker:
            trouble()
        untroubled(*given)

    monkeypatch.setattr(Placer, method, troubled)


@pytest.mark.slow
def test_the_rest_of_a_lot_that_a_helper_could_not_do_is_done_by_the_one_who_asked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = many_frames(bench)

    files = iter(range(1000))

    def fail() -> None:
        if next(files) % 3 == 2:  # some of a lot are there, some are not
            raise RuntimeError("not today")

    only_in_helpers(monkeypatch, fail)
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)


@pytest.mark.slow
def test_small_files_are_all_there_when_it_says_usable(bench: Bench) -> None:
    index = many_frames(bench)
    target = bench.home / "watched"
    target.mkdir()
    small = {f"{number}" for number in range(60)} | {"seven"}
    seen: list[str] = []

    def progress(phase: str, files: int, of: int, size: int, of_size: int) -> None:
        seen.append(phase)
        if phase == "usable":
            assert small <= set(os.listdir(target / "work"))
        assert files <= of
        assert size <= of_size

    done = extract.extract(
        index, bench.path, target, warn=bench.warn, progress=progress, existing="none"
    )
    assert seen.count("usable") == 1
    assert (done.files, done.bytes) == (index.counts().files, index.counts().bytes)
