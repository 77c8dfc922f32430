"""The one check against loss: what is not held by a snapshot goes aside, whatever it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.archive.restore import displace as module
from scratchflow.archive.restore.displace import Displacer, Displacing, FirstChange, Held
from scratchflow.archive.tree.index import Index
from scratchflow.disk.exchange import exchange
from tests.unit.archive.conftest import Bench


@pytest.fixture(params=["swapping names", "without swapping"], autouse=True)
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without swapping":
        monkeypatch.setattr(module, "exchange", lambda *_: False)


@pytest.fixture
def directory(bench: Bench) -> Iterator[int]:
    descriptor = os.open(bench.work, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def _saved(bench: Bench) -> tuple[Displacing, Index]:
    """The workspace as it is, held by a snapshot."""
    index = bench.backup("A")
    return Displacing(Held(bench.settled(), index), "B", bench.warn), index


def _wanted(index: Index, path: bytes) -> tuple[Index, int]:
    entry = index.find(path)
    assert entry is not None
    return index, entry


def test_the_very_file_that_was_saved_is_replaced(bench: Bench, directory: int) -> None:
    (bench.work / "file").write_bytes(b"saved")
    how, index = _saved(bench)
    (bench.work / "created").write_bytes(b"wanted")
    Displacer(how).put(directory, b"created", b"work/file", _wanted(index, b"work/file"))
    assert os.listdir(bench.work) == ["file"]
    assert (bench.work / "file").read_bytes() == b"wanted"
    assert (how.moved, bench.warnings) == ([], [])


@pytest.mark.parametrize("change", ["content", "same size and time", "another file", "a link"])
def test_what_somebody_wrote_since_goes_aside(bench: Bench, directory: int, change: str) -> None:
    file = bench.work / "file"
    file.write_bytes(b"saved")
    how, index = _saved(bench)
    before = file.stat()
    if change == "a link":
        file.unlink()
        file.symlink_to("precious")
    elif change == "another file":
        (bench.work / "x").write_bytes(b"PRECIOUS")
        (bench.work / "x").rename(file)
    else:
        file.write_bytes(b"PRECI" if change == "same size and time" else b"PRECIOUS")
        if change == "same size and time":
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (bench.work / "created").write_bytes(b"wanted")
    Displacer(how).put(directory, b"created", b"work/file", _wanted(index, b"work/file"))
    aside = bench.work / "file.before-B"
    assert file.read_bytes() == b"wanted"
    assert aside.is_symlink() if change == "a link" else aside.read_bytes().startswith(b"PRECI")
    assert how.moved == [b"work/file.before-B"]
    assert [code for code, _, _ in bench.warnings] == ["files.moved_aside"]


def test_what_is_written_between_the_last_look_and_the_swap_goes_aside(
    bench: Bench, directory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = bench.work / "file"
    file.write_bytes(b"saved")
    how, index = _saved(bench)

    def write_first(one: bytes, other: bytes, where: int) -> bool:
        file.write_bytes(b"PRECIOUS")
        return exchange(one, other, where)

    monkeypatch.setattr(module, "exchange", write_first)
    (bench.work / "created").write_bytes(b"wanted")
    Displacer(how).put(directory, b"created", b"work/file", _wanted(index, b"work/file"))
    assert file.read_bytes() == b"wanted"
    assert (bench.work / "file.before-B").read_bytes() == b"PRECIOUS"


def test_a_rewrite_with_the_same_bytes_is_held(bench: Bench, directory: int) -> None:
    (bench.work / "file").write_bytes(b"saved")
    how, index = _saved(bench)
    (bench.work / "file").unlink()
    (bench.work / "file").write_bytes(b"saved")
    assert Displacer(how).remove(directory, b"work/file")
    assert os.listdir(bench.work) == []
    assert index.find(b"work/file") is not None


def test_what_the_snapshot_could_not_read_is_not_held(bench: Bench, directory: int) -> None:
    (bench.work / "file").write_bytes(b"x")
    held = Held(bench.settled(), None, unsaved={b"work/file"})
    assert not Displacer(Displacing(held, "B", bench.warn)).remove(directory, b"work/file")
    assert os.listdir(bench.work) == ["file.before-B"]


def test_without_anything_held_everything_goes_aside(bench: Bench, directory: int) -> None:
    (bench.work / "file").write_bytes(b"x")
    displacer = Displacer(Displacing(None, "B", bench.warn))
    assert not displacer.remove(directory, b"work/file")
    assert displacer.remove(directory, b"work/missing")
    assert os.listdir(bench.work) == ["file.before-B"]


def test_names_that_are_taken_or_too_long_find_another(bench: Bench, directory: int) -> None:
    long = b"n" * 255
    displacer = Displacer(how := Displacing(None, "B", bench.warn))
    for content in (b"1", b"2", b"3"):
        (bench.work / os.fsdecode(long)).write_bytes(content)
        displacer.set_aside(directory, b"work/" + long)
    assert len(set(how.moved)) == 3
    contents = [Path(bench.scratch, os.fsdecode(path)).read_bytes() for path in how.moved]
    assert contents == [b"1", b"2", b"3"]


def test_a_free_name_is_taken_without_a_word(bench: Bench, directory: int) -> None:
    (bench.work / "file").write_bytes(b"x")
    how, index = _saved(bench)
    (bench.work / "file").rename(bench.work / "created")
    Displacer(how).put(directory, b"created", b"work/file", _wanted(index, b"work/file"))
    assert os.listdir(bench.work) == ["file"]
    assert bench.warnings == []


def test_the_first_change_is_told_once_and_before_it_happens(bench: Bench, directory: int) -> None:
    (bench.work / "file").write_bytes(b"x")
    seen: list[list[str]] = []
    first = FirstChange(lambda: seen.append(os.listdir(bench.work)))
    how = Displacing(None, "B", bench.warn, before_change=first)
    Displacer(how).set_aside(directory, b"work/file")
    Displacer(how).set_aside(directory, b"work/file.before-B")
    assert seen == [["file"]]
    threads = [threading.Thread(target=first) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1
