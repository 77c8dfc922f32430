"""Helpers make a restore quicker; they never change what comes back, and never outlive it."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.archive.restore import extract
from scratchflow.archive.restore import file_restorer as contents
from scratchflow.archive.restore import helpers as restore_helpers
from scratchflow.archive.restore import placer as placing
from scratchflow.archive.restore.placer import Placer
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.model.errors.restore import TargetNotEmpty
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import NoSpace
from tests.unit.archive.conftest import (
    Bench,
    fill,
    helpers_of_a_killed_asker,
    tree_state,
    wait_until_gone,
)

pytestmark = [
    pytest.mark.slow,  # processes are killed
    pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only"),
]


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


def test_everything_comes_back_and_helpers_took_part(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = many_frames(bench)
    reported = []
    reports = restore_helpers.RestoreHelpers.reports

    def counted(self: restore_helpers.RestoreHelpers, *, wait: bool) -> object:
        for report in reports(self, wait=wait):
            reported.append(report)
            yield report

    monkeypatch.setattr(restore_helpers.RestoreHelpers, "reports", counted)
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    assert reported
    assert all(done[0] for _, done in reported)


@pytest.mark.parametrize("method", ["small_file", "_finish"])
def test_after_a_helper_was_killed_all_is_begun_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Also one that had a file under a temporary name: nothing of it stays."""
    index = many_frames(bench)
    only_in_helpers(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGKILL), method)
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)


def test_a_name_that_is_taken_is_never_replaced(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the file system takes two names for one: whoever comes second says so."""
    index = many_frames(bench)
    small_file, target = Placer.small_file, bench.home / "restored"

    def folding(self: Placer, entry: int, content: memoryview) -> None:
        if index.names[entry] in {b"30", b"31"}:
            os.close(os.open(target / "work" / "30", os.O_CREAT | os.O_EXCL))
            return
        small_file(self, entry, content)

    monkeypatch.setattr(Placer, "small_file", folding)
    with pytest.raises(TargetNotEmpty):
        bench.restore(index)


def test_a_warning_reaches_the_one_who_asked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(bench.work)
    for number in range(5):
        path = bench.work / f"with-{number}"
        path.write_bytes(os.urandom(FRAME_BYTES // 2))
        try:
            os.setxattr(path, "user.note", b"x")
        except OSError:
            pytest.skip("no extended attributes here")
    index = bench.backup("A")
    monkeypatch.setattr(placing, "replace_xattrs", lambda *_: False)
    bench.restore(index)
    warned = sorted(path for code, path, _ in bench.warnings if code == "files.xattrs")
    assert warned == [b"work/with-%d" % number for number in range(5)]


def test_damage_in_a_helper_is_damage(bench: Bench) -> None:
    index = many_frames(bench)
    content = bytearray(bench.path("A").read_bytes())
    for end in index.archives[0].packed_ends:
        content[end - 1000] ^= 1  # in every frame, whoever takes it
    bench.path("A").write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        bench.restore(index)
    # What a helper was at when it was ended may be cut short: whoever asked removes all of it.
    restored = bench.home / "restored"
    for path in restored.rglob("*"):
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".tmp-"):
            original = (bench.scratch / path.relative_to(restored)).read_bytes()
            assert original.startswith(path.read_bytes())


def test_a_full_disk_is_said_as_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    index = many_frames(bench)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Placer, "small_file", full)
    with pytest.raises(NoSpace):
        bench.restore(index)


def test_a_restore_that_is_given_up_leaves_no_process(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = many_frames(bench)
    started: list[int] = []
    begin = restore_helpers.RestoreHelpers.__enter__

    def noted(self: restore_helpers.RestoreHelpers) -> restore_helpers.RestoreHelpers:
        started.extend(self.processes)
        return begin(self)

    monkeypatch.setattr(restore_helpers.RestoreHelpers, "__enter__", noted)

    def give_up(*_: object) -> None:
        raise KeyboardInterrupt

    target = bench.home / "given-up"
    target.mkdir()
    with pytest.raises(KeyboardInterrupt):
        extract.extract(
            index, bench.path, target, warn=bench.warn, progress=give_up, existing="none"
        )
    assert len(started) == 2
    for process in started:
        assert not Path(f"/proc/{process}").exists()


SLOW = """
import os, sys, time
from pathlib import Path
from scratchflow.archive.restore import file_restorer as contents
from scratchflow.archive.restore import extract
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.restore import helpers as restore_helpers
from scratchflow.archive.restore.placer import Placer
extract.usable_cores, contents._FILES_EACH = lambda: 3, 1
begin, small_file = restore_helpers.RestoreHelpers.__enter__, Placer.small_file
def enter(self):
    print(*self.processes, flush=True)
    return begin(self)
restore_helpers.RestoreHelpers.__enter__ = enter
Placer.small_file = lambda *given: time.sleep(0.2) or small_file(*given)
archive, target = map(Path, sys.argv[1:])
extract.extract(
    open_index(archive), lambda _: archive, target, warn=print, existing="none"
)
"""


def test_helpers_do_not_outlive_the_one_who_asked(bench: Bench) -> None:
    many_frames(bench)
    target = bench.home / "cut-short"
    target.mkdir()
    helpers = helpers_of_a_killed_asker(SLOW, bench.path("A"), target)
    assert len(helpers) == 2
    wait_until_gone(helpers)
    assert len(os.listdir(target / "work")) < 60
