"""What `status` says of the store's contents: the sentence is about what really shrank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.conftest import Desk, make_desk
from tests.unit.login.status.test_status import Login

ALSO = '[profiles.test.backup]\nalso = ["data"]\n'


def shrunk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> str:
    (problem,) = Login(desk, monkeypatch).look().problems
    assert problem.name == "backup.shrunk"
    return problem.detail


def test_status_names_the_root_that_shrank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk(tmp_path, ALSO)
    desk.write("work/one")
    desk.write("data/file")
    desk.backup()
    (desk.scratch / "data/file").unlink()
    desk.write("work/two")
    desk.backup(purpose="auto")
    assert "`data` holds 0 files (0 B) instead of 1 file (1 B)" in shrunk(desk, monkeypatch)


def test_the_root_that_shrank_last_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path, ALSO)
    desk.write("work/one")
    desk.write("data/file")
    whole = desk.backup().snapshot or ""
    (desk.scratch / "data/file").unlink()
    desk.backup(purpose="auto")
    back = desk.restore(whole).committed_as
    (desk.work / "one").unlink()
    assert desk.backup(purpose="auto").parent == back
    assert "`work` holds 0 files" in shrunk(desk, monkeypatch)


def test_when_only_bytes_were_lost_the_sizes_are_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.backup()
    desk.write("work/data/big.bin", "little")
    desk.backup(purpose="auto")
    desk.write("work/README", "hello again")
    desk.backup(purpose="auto")
    assert "3 files (24 B) instead of 3 files (" in shrunk(desk, monkeypatch)
