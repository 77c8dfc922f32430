"""The line that `create --env` prints really uses the environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scratchflow.workspace.environment import activation


def test_a_venv_is_in_use_after_its_line(tmp_path: Path) -> None:
    path = tmp_path / "with a space"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
    line = activation("venv", str(path), {})
    script = f'{line} && printf %s "$VIRTUAL_ENV"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == str(path)


def test_conda_is_named_as_the_node_has_it(tmp_path: Path) -> None:
    assert activation("conda", "/s/env", {"PATH": str(tmp_path)}) == "conda activate /s/env"
    (tmp_path / "micromamba").touch(mode=0o755)
    assert activation("conda", "/s/env", {"PATH": str(tmp_path)}) == "micromamba activate /s/env"
