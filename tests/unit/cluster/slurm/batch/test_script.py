"""The batch script keeps the job's output apart from the agent's, and reads the user's own lines as Slurm does."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scratchflow.cluster.slurm.batch.script import (
    batch_script,
    interpreter,
    job_name_in,
    sbatch_lines,
)

SCRIPT = """\
#!/bin/bash -l
#SBATCH --job-name=mine   # a remark
#SBATCH -G 2

# more
#SBATCH --mem 4G
module load python
#SBATCH --time=1
"""


def test_a_hostile_path_is_only_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "it's $(touch x) `y`"
    odd.mkdir()
    (odd / "request").write_text("asked\n")
    agent = ["sh", "-c", 'read -r line; echo "$line" >&8; echo err >&9; echo log', "sh", "$(z)"]
    script = tmp_path / "script"
    script.write_text(batch_script(agent, f"{odd}/request", f"{odd}/log", ["#SBATCH --mem=1"]))
    done = subprocess.run(["sh", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("asked\n", "err\n")
    assert (odd / "log").read_text() == "log\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([odd.name, "script"])


def test_lines_are_read_up_to_the_first_command() -> None:
    lines = sbatch_lines(SCRIPT)
    assert lines == ["#SBATCH --job-name=mine   # a remark", "#SBATCH -G 2", "#SBATCH --mem 4G"]
    assert job_name_in(lines) == "mine"
    assert job_name_in(["#SBATCH -J other"]) == "other"
    assert job_name_in(["#SBATCH --mem=1"]) == ""


def test_the_first_line_names_the_interpreter_as_the_kernel_reads_it() -> None:
    assert interpreter(SCRIPT) == ["/bin/bash", "-l"]
    assert interpreter("#!/usr/bin/env -S python -u\n") == ["/usr/bin/env", "-S python -u"]
    assert interpreter("echo\n") == []
