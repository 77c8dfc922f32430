"""Where the system can swap two names there is no moment in which a write could be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.archive.restore import displace as displacing
from tests.unit.conftest import Desk
from tests.unit.node.restore.test_delta_loss_check import during, is_kept


@pytest.mark.parametrize("path", ["README", "extra"])
def test_a_file_written_between_the_last_look_and_the_rename_is_kept(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.write("work/extra", "second")
    desk.backup()
    swap = "exchange" if path == "README" else "rename_free"
    written = desk.work / path
    during(monkeypatch, displacing, swap, lambda: written.write_bytes(b"written meanwhile"))
    desk.restore(first)
    assert is_kept(desk, b"written meanwhile", tmp_path / "all")
