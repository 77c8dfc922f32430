"""The structure check that CI runs really fails when the structure is spoilt."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its page in the docs, to be spoilt."""
    shutil.copytree(ROOT / "scratchflow", tmp_path / "scratchflow")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/architecture.md", tmp_path / "docs")
    return tmp_path


def check(root: Path) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "scripts/house.py"), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_package_as_it_stands_passes(copy: Path) -> None:
    assert check(copy) == (0, "")


def test_a_circle_that_a_late_import_hides_is_found(copy: Path) -> None:
    (copy / "scratchflow/model/first.py").write_text("from scratchflow.model import second\n")
    late = "def go():\n    from scratchflow.model.first import x\n"
    (copy / "scratchflow/model/second.py").write_text(late)
    code, words = check(copy)
    assert code == 1
    assert words == "import circle: scratchflow.model.first -> scratchflow.model.second\n"


def test_a_crowded_folder_is_found(copy: Path) -> None:
    for number in range(19):
        (copy / f"scratchflow/report/more_{number}.py").touch()
    code, words = check(copy)
    assert code == 1
    assert words.startswith("report/ has ")


def test_a_folder_that_the_docs_do_not_name_is_found(copy: Path) -> None:
    (copy / "scratchflow/disk/attic").mkdir()
    (copy / "scratchflow/disk/attic/__init__.py").touch()
    assert check(copy) == (1, "docs/architecture.md does not name `disk/attic/`\n")
