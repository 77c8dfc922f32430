"""A venv that was restored at another path works there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scratchflow.node.job.venv import move_venv


def test_scripts_and_activate_lead_to_the_new_place(tmp_path: Path) -> None:
    old, new = tmp_path / "old/env", tmp_path / "new/env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", old], check=True)
    script = old / "bin/tool"
    script.write_text(f"#!{old}/bin/python\nimport sys; print(sys.prefix)\n")
    script.chmod(0o555)
    new.parent.mkdir()
    old.rename(new)
    assert move_venv(new)
    said = subprocess.run([new / "bin/tool"], capture_output=True, text=True, check=True).stdout
    assert said == f"{new}\n"
    shell = f'. "{new}/bin/activate"; command -v python'
    said = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout
    assert said == f"{new}/bin/python\n"
    assert not move_venv(new)


def test_what_is_no_venv_is_left_alone(tmp_path: Path) -> None:
    assert not move_venv(tmp_path)
