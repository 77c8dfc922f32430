"""The umask is read, never set: other threads create files meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.disk import umask


@pytest.fixture(autouse=True)
def _own_umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def _refuse(_mask: int) -> int:
    raise AssertionError("the umask was set")


def test_it_is_read_without_being_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "umask", _refuse)
        assert umask.current_umask() == 0o027


@pytest.mark.parametrize(
    "status", ["Name:\tpython3\nPid:\t1\n", None], ids=["old kernel", "no /proc"]
)
def test_where_the_kernel_does_not_say_it_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str | None
) -> None:
    file = tmp_path / "status"
    if status is not None:
        file.write_text(status)
    monkeypatch.setattr(umask, "_STATUS", file)
    assert umask.current_umask() == 0o027
    assert umask.current_umask() == 0o027
