"""Whatever is done to files of one size and one mtime between backups: every byte comes back."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scratchflow.archive.tree.index import Index
from scratchflow.archive.write import writer
from tests.unit.archive.conftest import Bench, tree_state

_NAMES = st.sampled_from(["a", "b", "c", "sub/d", "sub/e"])
_MTIME_NS = 1_600_000_000_000_000_000
_STEP = st.one_of(
    st.tuples(st.sampled_from(["write", "rewrite", "exchange"]), _NAMES, st.binary(max_size=1)),
    st.tuples(st.sampled_from(["rename", "link", "swap", "copy", "reborn"]), _NAMES, _NAMES),
    st.tuples(st.sampled_from(["unlink", "chmod"]), _NAMES, st.just("")),
    st.tuples(st.sampled_from(["backup", "forget the cache", "full"]), st.just(""), st.just("")),
)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(_MTIME_NS, _MTIME_NS))


def _step(work: Path, what: str, first: str, second: str | bytes) -> None:
    path = work / first
    if isinstance(second, bytes):
        if what == "exchange":  # as editors do it: another file gets the name
            path.unlink(missing_ok=True)
        _write(path, second.ljust(1, b"-") * 64)
    elif path.exists() and second:
        if first != second:
            _step_with_two(work, what, path, work / second)
    elif path.exists():
        path.unlink() if what == "unlink" else path.chmod(path.stat().st_mode ^ 0o011)


def _step_with_two(work: Path, what: str, path: Path, other: Path) -> None:
    if what == "rename":
        path.rename(other)
    elif what == "link":
        other.unlink(missing_ok=True)
        os.link(path, other)
    elif what == "copy":
        other.unlink(missing_ok=True)
        shutil.copy2(path, other)
    elif what == "reborn":  # the file system gives the inode of a deleted file to the next one
        content = path.read_bytes()
        path.unlink()
        _write(other, content[1:] + b"+")
    elif other.exists():
        path.rename(work / "aside")
        other.rename(path)
        (work / "aside").rename(other)


def _wait_a_tick(directory: Path) -> None:
    """Until the next write gets another stamp: nothing here counts as too new to be believed."""
    probe = directory / "probe"
    probe.touch()
    before_ns = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns < before_ns + 20_000_000:
        probe.touch()


def _backup(bench: Bench, number: int, parent: Index | None, *, full: bool) -> Index | None:
    planned = writer.plan(bench.settled(), parent, bench.cache, warn=bench.warn, full=full)
    _wait_a_tick(bench.home)
    if planned.unchanged:
        bench.cache = planned.cache_if_unchanged()
        return parent
    return bench.write(planned, f"S{number}")


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(_STEP, max_size=30))
def test_every_backup_holds_what_was_there(steps: list[tuple[str, str, str | bytes]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(Path(home))
        (bench.work / "sub").mkdir()
        index: Index | None = None
        for number, (what, first, second) in enumerate([*steps, ("backup", "", "")]):
            if what == "forget the cache":
                bench.cache = None
            elif what in ("backup", "full"):
                index = _backup(bench, number, index, full=what == "full")
                assert index
                restored = tree_state(bench.restore(index, f"R{number}"))
                assert {path: state[3] for path, state in restored.items()} == {
                    path: state[3] for path, state in tree_state(bench.scratch).items()
                }
            else:
                _step(bench.work, what, first, second)
