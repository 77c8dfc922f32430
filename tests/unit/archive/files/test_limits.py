"""A limit of this process is never taken for a file that cannot be read."""

from __future__ import annotations

import errno
import os

import pytest

from scratchflow.archive.files.limits import limit_reached, refuse_own_limit
from scratchflow.archive.scan import scan as scanning
from scratchflow.model.errors.workspace import LimitReached
from tests.unit.archive.conftest import Bench
from tests.unit.limited import only_so_many_more


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EFBIG])
def test_it_is_refused(code: int) -> None:
    with pytest.raises(LimitReached, match="limit"):
        refuse_own_limit(OSError(code, os.strerror(code)))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_so_are_memory_and_threads(error: Exception) -> None:
    assert isinstance(limit_reached(error), LimitReached)


@pytest.mark.parametrize("error", [RuntimeError("other"), ValueError(), BlockingIOError(11, "try")])
def test_a_defect_is_none(error: Exception) -> None:
    assert limit_reached(error) is None


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ENOENT, errno.ESTALE])
def test_what_a_file_says_is_not(code: int) -> None:
    refuse_own_limit(OSError(code, os.strerror(code)))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("helpers", [0, 2])
def test_a_scan_that_may_not_open_enough_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, helpers: int
) -> None:
    monkeypatch.setattr(scanning, "usable_cores", lambda: helpers + 1)
    deepest = bench.work.joinpath(*["deep"] * 60)
    deepest.mkdir(parents=True)
    (deepest / "file").touch()
    with only_so_many_more(24), pytest.raises(LimitReached):
        bench.scan()
    assert not bench.warnings


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_nor_is_anything_written_without_files_that_could_not_be_opened(bench: Bench) -> None:
    for number in range(40):
        directory = bench.work.joinpath(f"{number}", *["deep"] * 10)
        directory.mkdir(parents=True)
        (directory / "file").write_bytes(b"%d" % number)
    planned = bench.plan()
    with only_so_many_more(9), pytest.raises(LimitReached):
        bench.write(planned, "A")
