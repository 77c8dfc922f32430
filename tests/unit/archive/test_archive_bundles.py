"""Members are shared out to threads; the archive is as if one had written it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from scratchflow.archive import bundling, verify, writer
from scratchflow.archive.frame_sink import FRAME_BYTES
from scratchflow.archive.member_writer import MemberWriter
from scratchflow.archive.reader import open_index, read_file

from .conftest import Bench, age_directories, fill, tree_state


def crowded(bench: Bench) -> None:
    """Several bundles, a large file between them, and files with several names across them."""
    fill(bench.work)
    for number in range(400):
        directory = bench.work / f"dir-{number % 7}"
        directory.mkdir(exist_ok=True)
        (directory / f"file-{number}").write_bytes(os.urandom(100 + number * 137))
    (bench.work / "dir-3" / "large").write_bytes(os.urandom(FRAME_BYTES * 2 + 5))
    (bench.work / "dir-4" / "middling").write_bytes(os.urandom(FRAME_BYTES // 2 - 1))
    os.link(bench.work / "dir-0" / "file-7", bench.work / "dir-6" / "another-name")
    (bench.work / "dir-5" / ("long-" + "x" * 200)).write_bytes(b"long")
    age_directories(bench.work)


def test_many_bundles_come_back_with_our_reader_and_with_plain_tar(bench: Bench) -> None:
    crowded(bench)
    before = tree_state(bench.scratch)
    index = bench.backup("A")
    assert len(index.archives[0].raw_ends) > 4
    assert verify.verify_archive(bench.path("A")) == []
    assert tree_state(bench.restore(index)) == before
    assert tree_state(bench.restore_plain("A"), whole_seconds=True) == tree_state(
        bench.scratch, whole_seconds=True
    )


def test_what_is_stored_is_told_once_and_by_the_thread_that_asked(bench: Bench) -> None:
    crowded(bench)
    told: list[bytes] = []
    threads = set()

    def item(action: str, path: bytes) -> None:
        assert action == "stored"
        threads.add(threading.current_thread())
        told.append(path)

    planned = bench.plan()
    with bench.path("A").open("wb", buffering=0) as out:
        writer.write(planned, out, archive_id="A", warn=bench.warn, item=item)
    everything = [planned.scanned.path(entry) for entry in range(len(planned.scanned))]
    assert sorted(told) == sorted(everything)
    assert threads == {threading.current_thread()}


def test_a_file_that_grew_too_large_for_a_bundle_is_stored_all_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "_MAX_GROWN_BYTES", 10_000)
    crowded(bench)
    grown = bench.work / "dir-2" / "file-2"
    planned = bench.plan()
    content = os.urandom(FRAME_BYTES + 1)
    grown.write_bytes(content)
    index = bench.write(planned, "A")
    entry = index.find(b"work/dir-2/file-2")
    assert entry is not None
    assert b"".join(read_file(index, entry, bench.path)) == content
    assert verify.verify_archive(bench.path("A")) == []
    assert tree_state(bench.restore(index))[b"work/dir-2/file-2"][3] == content


def test_files_that_vanish_are_warned_about_and_left_out(bench: Bench) -> None:
    crowded(bench)
    planned = bench.plan()
    gone = [bench.work / f"dir-{number % 7}" / f"file-{number}" for number in range(0, 400, 40)]
    for path in gone:
        path.unlink()
    index = bench.write(planned, "A")
    assert {code for code, _, _ in bench.warnings} == {"files.vanished"}
    assert len(bench.warnings) == len(gone)
    assert index.find(b"work/dir-0/file-0") is None
    assert open_index(bench.path("A")).counts() == index.counts()


def test_an_error_in_a_thread_ends_the_backup_and_not_in_silence(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crowded(bench)
    planned = bench.plan()
    before = threading.active_count()

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(MemberWriter, "add_symlink", broken)
    with (tmp_path / "A").open("wb", buffering=0) as out, pytest.raises(RuntimeError):
        writer.write(planned, out, archive_id="A", warn=bench.warn)
    assert threading.active_count() == before


def test_files_with_several_names_among_others_do_not_cut_frames_short(bench: Bench) -> None:
    for number in range(300):
        path = bench.work / f"file-{number:03d}"
        path.write_bytes(b"%d" % number)
        if number % 2:
            os.link(path, bench.work / f"other-{number:03d}")
    index = bench.backup("A")
    assert len(index.archives[0].raw_ends) == 1
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
