"""A loop whose program is removed under it goes on: everything that a backup needs was loaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import scratchflow

_LOADS_LOSES_AND_IMPORTS = """
import shutil, sys
sys.path.insert(0, sys.argv[1])
import scratchflow
assert scratchflow.__file__.startswith(sys.argv[1]), scratchflow.__file__
from scratchflow.node.autobackup.preload import load_everything
load_everything()
print(*sorted(name for name in sys.modules if name.startswith("scratchflow.")))
shutil.rmtree(sys.argv[1])
from scratchflow.store.rescue_files import our_files
assert all(our_files().values())
"""


@pytest.mark.slow
def test_everything_that_a_backup_may_need_is_loaded(tmp_path: Path) -> None:
    package = Path(scratchflow.__file__).parent
    copy = tmp_path / "agent/scratchflow"
    shutil.copytree(package, copy)
    ran = subprocess.run(
        [sys.executable, "-c", _LOADS_LOSES_AND_IMPORTS, str(tmp_path / "agent")],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    loaded = set(ran.stdout.split())
    wanted = {
        ".".join(["scratchflow", *path.relative_to(package).with_suffix("").parts])
        for room in ("node", "store", "archive", "workspace", "disk", "model", "process", "cluster")
        for path in (package / room).rglob("*.py")
        if path.name not in {"__init__.py", "__main__.py"} and "rescue" not in path.parent.name
    }
    assert wanted - loaded == set()
    assert "scratchflow.report.crash" in loaded
