"""Real mounts inside a workspace, in a mount namespace of their own. Needs root."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
set -e
mount --bind "$HERE/home" "$HERE/scratch/work/home"
mount --bind "$HERE/home/key" "$HERE/scratch/work/key"
mount --bind "$HERE/scratch/work" "$HERE/scratch/work"
mount --bind "$HERE/home" "$HERE/scratch/work/home"
mount --bind "$HERE/home/key" "$HERE/scratch/work/other"
"$PYTHON" -m scratchflow --config "$HERE/config.toml" --json backup
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A workspace with a directory and a file to mount a home directory and a key over."""
    (tmp_path / "config.toml").write_text(
        "[profiles.test]\n"
        'scheduler = "none"\n'
        f'scratch = "{tmp_path}/scratch"\n'
        f'store = "{tmp_path}/store"\n'
    )
    (tmp_path / "home").mkdir()
    (tmp_path / "home/key").write_text("secret")
    (tmp_path / "scratch/work/home").mkdir(parents=True)
    for name in ("key", "other"):
        (tmp_path / "scratch/work" / name).touch()
    (tmp_path / "scratch/work/mine").write_text("mine")
    return tmp_path


def run(site: Path, *command: str) -> str:
    environment = {"HERE": str(site), "PYTHON": sys.executable, "HOME": str(site), "USER": "u",
                   "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_home_bind_mounted_into_the_workspace_is_not_saved(site: Path) -> None:
    """The workspace is a mount point itself, hides an earlier one, and all is on one device."""
    said = run(site, "unshare", "-m", "sh", "-c", _SCRIPT)
    assert said.count("files.mounted") == 2, said
    config = str(site / "config.toml")
    run(site, sys.executable, "-m", "scratchflow", "--config", config, "restore",
        "--to", str(site / "out"))  # fmt: skip
    restored = site / "out/work"
    assert sorted(path.name for path in restored.rglob("*")) == ["home", "key", "mine"]
    assert (restored / "mine").read_text() == "mine"
