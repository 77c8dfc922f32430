"""The command of a job: its exit code, its environment, and what Slurm's signals do."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from scratchflow.node.job.command import (
    JobSignals,
    Started,
    job_argv,
    job_environment,
    run_to_end,
)


def run(tmp_path: Path, script: str, every_s: float = 3600) -> tuple[int, int, JobSignals]:
    """Its exit code, how often it was saved, and the signals."""
    signals, saved = JobSignals(), []
    with open(tmp_path / "out", "wb") as out:
        started = Started(["sh", "-c", script], tmp_path, os.environ, out.fileno(), out.fileno())
        with signals.caught():
            code = run_to_end(started, signals, lambda: saved.append(1), every_s)
    return code, len(saved), signals


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_exit_code_is_the_commands(tmp_path: Path, script: str, code: int) -> None:
    assert run(tmp_path, script)[0] == code


def test_sigterm_ends_the_command_and_is_noted(tmp_path: Path) -> None:
    code, _, signals = run(tmp_path, "kill -TERM $PPID; while :; do sleep 0.05; done")
    assert (code, signals.ends) == (143, True)


def test_sigusr1_saves_and_lets_the_command_go_on(tmp_path: Path) -> None:
    script = "kill -USR1 $PPID; sleep 0.5; exit 4"
    code, saved, signals = run(tmp_path, script)
    assert (code, saved, signals.ends) == (4, 1, False)


def test_a_hang_up_means_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -HUP $PPID; exit 5")[0] == 5


def test_it_saves_now_and_then(tmp_path: Path) -> None:
    assert run(tmp_path, "sleep 1", every_s=0.1)[1] > 1


def test_handlers_are_put_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run(tmp_path, "true")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_command_is_a_step_and_a_script_is_not(tmp_path: Path) -> None:
    (tmp_path / "srun").write_text("")
    (tmp_path / "srun").chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    argv = job_argv(["-x"], environment, script=False, overlap=True)
    assert argv == ["srun", "--unbuffered", "--export=ALL", "--overlap", "--", "-x"]
    assert job_argv(["x"], environment, script=True, overlap=True) == ["x"]
    assert job_argv(["x"], {"PATH": "/nowhere"}, script=False, overlap=True) == ["x"]


def test_the_step_has_the_cores_of_the_job() -> None:
    given = job_environment({"SLURM_CPUS_PER_TASK": "4", "SLURM_EXPORT_ENV": "NONE"}, "j")
    assert given["SRUN_CPUS_PER_TASK"] == "4"
    assert given["PYTHONUNBUFFERED"] == "1"
    assert "SLURM_EXPORT_ENV" not in given
