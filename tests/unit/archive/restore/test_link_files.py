"""Where the system refuses hard links, every name comes back with its content."""

from __future__ import annotations

import errno
import os

import pytest

from tests.unit.archive.conftest import Bench, tree_state


def _refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def _three_names(bench: Bench) -> list[bytes]:
    """A large and a small file with three names each; the paths of the further names."""
    further = []
    for name, size in (("large", 9_000_000), ("small", 10)):
        (bench.work / name).write_bytes(os.urandom(size))
        for number in (2, 3):
            (bench.work / f"{name}-{number}").hardlink_to(bench.work / name)
            further.append(os.fsencode(f"work/{name}-{number}"))
    return further


def _contents(state: dict[bytes, tuple[object, ...]]) -> dict[bytes, tuple[object, ...]]:
    """A tree's state without the word on shared inodes."""
    return {
        path: (*rest, content[0] if isinstance(content, tuple) else content)
        for path, (*rest, content) in state.items()
    }


@pytest.mark.slow
def test_a_restore_without_hard_links(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    further = _three_names(bench)
    index = bench.backup("A")
    monkeypatch.setattr(os, "link", _refuse)
    restored = bench.restore(index)
    assert _contents(tree_state(restored)) == _contents(tree_state(bench.scratch))
    warned = {path for code, path, _ in bench.warnings if code == "files.not_linked"}
    assert warned == set(further)


@pytest.mark.slow
def test_a_difference_without_hard_links(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    further = _three_names(bench)
    first = bench.backup("A")
    before = _contents(tree_state(bench.scratch))
    for path in further:
        os.unlink(bench.scratch / os.fsdecode(path))
    second = bench.backup("B", first)
    monkeypatch.setattr(os, "link", _refuse)
    applied = bench.delta_to(first, second)
    assert _contents(tree_state(bench.scratch)) == before
    assert (applied.written_files, applied.written_bytes) == (4, 2 * 9_000_010)


def test_another_error_of_a_link_is_none_of_these(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _three_names(bench)
    index = bench.backup("A")

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", broken)
    with pytest.raises(OSError, match="Input/output"):
        bench.restore(index)
