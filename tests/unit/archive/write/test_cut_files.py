"""Large files are read and cut by processes of their own; what those cannot do is left alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from scratchflow.archive.files.digest import digest_of_bytes
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.write.cut_files import CutFiles, CutStream, IsKnown
from tests.unit.archive.conftest import Bench, helpers_of_a_killed_asker, wait_until_gone

pytestmark = pytest.mark.usefixtures("small_chunks")

SEED = 5
SIZE = 400_000  # more windows than there are slots


@pytest.fixture
def scanned(bench: Bench) -> ScannedTree:
    for number in range(5):
        (bench.work / f"file{number}").write_bytes(os.urandom(SIZE + number))
    return bench.settled()


def _files(scanned: ScannedTree) -> list[int]:
    return list(scanned.regular_files())


def _path(bench: Bench, scanned: ScannedTree, entry: int) -> Path:
    return bench.scratch / os.fsdecode(scanned.path(entry))


def _open(cuts: CutFiles, bench: Bench, scanned: ScannedTree, entry: int) -> CutStream | None:
    return cuts.open(entry, _path(bench, scanned, entry).stat())


def _read(stream: CutStream, step: int = 10_001) -> bytes:
    room = memoryview(bytearray(step))
    found = bytearray()
    while got := stream.read_into(room):
        found += room[:got]
    return bytes(found)


def _check_whole(stream: CutStream | None, content: bytes) -> None:
    assert stream
    assert _read(stream) == content
    assert stream.digest == digest_of_bytes(content, SEED)
    starts = [sum(stream.lengths[:number]) for number in range(len(stream.lengths))]
    chunks = [content[at : at + size] for at, size in zip(starts, stream.lengths, strict=True)]
    assert b"".join(chunks) == content
    assert b"".join(digest_of_bytes(chunk, SEED) for chunk in chunks) == stream.digests


@pytest.mark.parametrize("count", [1, 3, 9])
def test_every_file_comes_with_its_chunks(bench: Bench, scanned: ScannedTree, count: int) -> None:
    with CutFiles(scanned, SEED, _files(scanned), count) as cuts:
        assert len(cuts.processes) == min(count, 5)
        for entry in _files(scanned):
            content = _path(bench, scanned, entry).read_bytes()
            _check_whole(_open(cuts, bench, scanned, entry), content)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("windows", [0, 1, 3])
def test_files_that_nobody_asks_for_or_wants_no_more_are_passed_over(
    bench: Bench, scanned: ScannedTree, count: int, windows: int
) -> None:
    _, second, third, _, last = _files(scanned)
    with CutFiles(scanned, SEED, _files(scanned), count) as cuts:
        for entry in (second, third):
            stream = _open(cuts, bench, scanned, entry)
            assert stream
            for _, _ in zip(range(windows), stream.windows(), strict=False):
                pass
            if entry == second:
                stream.close()
                assert stream.digest is None
        _check_whole(_open(cuts, bench, scanned, last), _path(bench, scanned, last).read_bytes())
        assert _open(cuts, bench, scanned, third) is None  # it was passed over


def test_windows_of_known_chunks_come_without_content(bench: Bench, scanned: ScannedTree) -> None:
    entry = _files(scanned)[0]
    with CutFiles(scanned, SEED, [entry], 1) as cuts:
        stream = _open(cuts, bench, scanned, entry)
        assert stream
        windows = [(bytes(one.content), one.digests) for one in stream.windows()]
        digest = stream.digest
    unknown = windows[2][1][:16]
    is_known: IsKnown = lambda one, length: one != unknown and length > 0  # noqa: E731 - typed so
    with CutFiles(scanned, SEED, [entry], 1, is_known) as cuts:
        stream = _open(cuts, bench, scanned, entry)
        assert stream
        found = [(bytes(one.content), one.digests) for one in stream.windows()]
    assert found == [
        (content if number == 2 else b"", digests)
        for number, (content, digests) in enumerate(windows)
    ]
    assert stream.digest == digest


def test_a_killed_process_ends_its_file_early_and_others_go_on(
    bench: Bench, scanned: ScannedTree
) -> None:
    entries = _files(scanned)
    with CutFiles(scanned, SEED, entries, 2) as cuts:
        stream = _open(cuts, bench, scanned, entries[0])
        assert stream
        next(iter(stream.windows()))
        os.kill(cuts.processes[0], signal.SIGKILL)
        content = _path(bench, scanned, entries[0]).read_bytes()
        assert _read(stream) in content
        assert stream.digest is None
        for entry in entries[1:]:
            _check_whole(
                _open(cuts, bench, scanned, entry), _path(bench, scanned, entry).read_bytes()
            )


def test_without_any_process_nothing_is_cut(bench: Bench, scanned: ScannedTree) -> None:
    with CutFiles(scanned, SEED, _files(scanned), 2) as cuts:
        for process in cuts.processes:
            os.kill(process, signal.SIGKILL)
        streams = [_open(cuts, bench, scanned, entry) for entry in _files(scanned)]
        # What one had said before it was killed may still be heard.
        assert [stream and _read(stream) and stream.digest for stream in streams[2:]] == [None] * 3


def test_no_process_is_left_behind(scanned: ScannedTree) -> None:
    with CutFiles(scanned, SEED, _files(scanned), 2) as cuts:
        processes = cuts.processes
    assert len(processes) == 2
    wait_until_gone(processes)
    cuts.close()


def _opened(cuts: CutFiles, bench: Bench, names: Iterable[str], entries: list[int]) -> list[bool]:
    found = []
    for name, entry in zip(names, entries, strict=True):
        stream = cuts.open(entry, (bench.work / name).stat())
        found.append(stream is not None)
    return found


def test_what_changed_or_is_gone_or_has_little_content_is_not_cut(
    bench: Bench, scanned: ScannedTree
) -> None:
    (bench.work / "file0").unlink()
    (bench.work / "file1").unlink()
    (bench.work / "file1").symlink_to("file3")
    with (bench.work / "file2").open("r+b") as file:
        file.truncate(0)
        file.truncate(3_000_000)
    with CutFiles(scanned, SEED, _files(scanned), 1) as cuts:
        names = ["file4", "file1", "file2", "file3", "file4"]
        # The first is gone, and the fourth is not the file that is asked for.
        os.utime(bench.work / "file3", ns=(1, 1))
        stale = (bench.work / "file3").stat()
        found = _opened(cuts, bench, names[:3], _files(scanned)[:3])
        os.utime(bench.work / "file3", ns=(2, 2))
        found.append(cuts.open(_files(scanned)[3], stale) is not None)
        found += _opened(cuts, bench, names[4:], _files(scanned)[4:])
    assert found == [False, False, False, False, True]


def test_a_file_with_holes_comes_without_them(bench: Bench) -> None:
    first, second = os.urandom(150_000), os.urandom(70_000)
    with (bench.work / "sparse").open("wb") as file:
        file.seek(1 << 20)
        file.write(first)
        file.seek(3 << 20)
        file.write(second)
        file.truncate(5 << 20)
    whole = (bench.work / "sparse").read_bytes()
    scanned = bench.settled()
    (entry,) = _files(scanned)
    with CutFiles(scanned, SEED, [entry], 1) as cuts:
        stream = _open(cuts, bench, scanned, entry)
        assert stream
        assert stream.extents
        pairs = list(zip(stream.extents[::2], stream.extents[1::2], strict=True))
        stored = b"".join(whole[at : at + length] for at, length in pairs)
        assert _read(stream) == stored
        assert first in stored
        assert second in stored
        assert len(stored) < 300_000
    assert stream.digest == digest_of_bytes(whole, SEED)


_ASKER = """
import sys, time
from pathlib import Path
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import scan_tree
from scratchflow.archive.write.cut_files import CutFiles
scanned = scan_tree(Path(sys.argv[1]), ["work"], IgnoreRules(), print)
cuts = CutFiles(scanned, 5, list(scanned.regular_files()), 2)
print(*cuts.processes, flush=True)
time.sleep(60)
"""


def test_processes_end_when_the_one_who_asked_is_killed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "work" / name).write_bytes(bytes(range(256)) * 200_000)
    helpers = helpers_of_a_killed_asker(_ASKER, tmp_path)
    assert len(helpers) == 2
    wait_until_gone(helpers)
