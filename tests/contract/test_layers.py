"""The layer check that CI runs really fails when a call goes upward."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its contract, to be spoilt."""
    shutil.copytree(ROOT / "scratchflow", tmp_path / "scratchflow")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    program = "import sys; from importlinter.cli import lint_imports_command as main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=directory,
        env={"PYTHONPATH": str(directory), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_rooms_as_they_stand_keep_their_layers(copy: Path) -> None:
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("lower", "upper"),
    [("archive", "cluster"), ("model", "config"), ("config", "flows"), ("flows", "cli")],
)
def test_an_import_upward_fails(copy: Path, lower: str, upper: str) -> None:
    room = copy / "scratchflow" / lower
    room.mkdir(exist_ok=True)
    (room / "__init__.py").write_text(f"import scratchflow.{upper}\n")
    done = lint_imports(copy)
    assert done.returncode == 1
    assert f"scratchflow.{lower} is not allowed to import scratchflow.{upper}" in done.stdout
