"""A copy of the workspace on a node: one process at a time uses it, and its removal disturbs nobody."""

from __future__ import annotations

import errno
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from scratchflow.disk.trees import remove_tree
from scratchflow.node.job import copies as module
from scratchflow.node.job.copies import (
    in_use,
    is_removed_copy,
    remove_copy,
    taken_over,
    task_of_copy,
)

NAME = "20261115T093000Z-3f2a9c-12"


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A copy that nobody uses."""
    copy = tmp_path / "jobs" / NAME
    (copy / "work/outputs").mkdir(parents=True)
    return copy


def test_its_name_tells_the_task_and_that_of_a_removed_one_does_not() -> None:
    assert task_of_copy(NAME) == (NAME[:-3], 12)
    for other in ("notes", f".removed-{NAME}-00aa", f"{NAME}x"):
        assert task_of_copy(other) is None
    assert is_removed_copy(f".removed-{NAME}-00aa")
    assert not any(map(is_removed_copy, (NAME, ".removed-notes")))


@pytest.mark.slow
def test_a_copy_that_another_job_saves_is_waited_for(left: Path) -> None:
    with ThreadPoolExecutor(1) as others:
        with in_use(left) as is_saved_now:
            assert is_saved_now
            waiting = others.submit(lambda: enter(taken_over(left)))
            time.sleep(0.3)
            assert not waiting.done()
            remove_copy(left)
        assert waiting.result(timeout=10) is False
    with taken_over(left) as is_left:
        assert not is_left


def enter(copy: AbstractContextManager[bool]) -> bool:
    with copy as is_left:
        return is_left


def test_one_that_is_used_for_ever_is_told(left: Path) -> None:
    with in_use(left), pytest.raises(TimeoutError, match="still uses"), taken_over(left, 0.1):
        pass


def test_where_there_are_no_locks_it_is_not_waited_for(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_: int) -> bool:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(module, "try_lock", refuses)
    with taken_over(left) as is_left:
        assert is_left


def test_two_that_remove_the_same_do_not_disturb_each_other(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = remove_tree

    def removed_already(path: Path) -> None:
        real(path)
        real(path)

    monkeypatch.setattr(module, "remove_tree", removed_already)
    remove_copy(left)
    assert not list(left.parent.iterdir())
