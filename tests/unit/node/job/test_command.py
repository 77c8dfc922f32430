"""The command of a job: its exit code, its environment, and what Slurm's signals do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scratchflow.node.job.command import (
    BeforeLimit,
    JobSignals,
    Started,
    cannot_interpret,
    cannot_start,
    job_argv,
    job_environment,
    run_to_end,
)
from scratchflow.node.job.limit_clock import LimitClock

UNKNOWN = LimitClock(0.1, lambda: None)
"""Where nobody says when the time limit is, and a command is left alone for hardly a moment."""


def run(
    tmp_path: Path, script: str, every_s: float = 3600, before: BeforeLimit | None = None
) -> tuple[int, int, JobSignals]:
    """Its exit code, how often it was saved, and the signals."""
    signals, saved = JobSignals(), []
    with open(tmp_path / "out", "wb") as out:
        started = Started(["sh", "-c", script], tmp_path, os.environ, out.fileno(), out.fileno())
        with signals.caught():
            code = run_to_end(started, signals, lambda: saved.append(1), every_s, before)
    return code, len(saved), signals


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_exit_code_is_the_commands(tmp_path: Path, script: str, code: int) -> None:
    assert run(tmp_path, script)[0] == code


def test_sigterm_ends_the_command_and_is_noted(tmp_path: Path) -> None:
    code, _, signals = run(tmp_path, "kill -TERM $PPID; while :; do sleep 0.05; done")
    assert (code, signals.ends) == (143, True)


@pytest.mark.slow
def test_sigusr1_saves_and_lets_the_command_go_on(tmp_path: Path) -> None:
    script = "kill -USR1 $PPID; sleep 0.5; exit 4"
    code, saved, signals = run(tmp_path, script)
    assert (code, saved, signals.ends) == (4, 1, False)


def test_the_command_gets_the_signal_that_it_asked_for_and_may_end_by_itself(
    tmp_path: Path,
) -> None:
    script = "trap 'exit 6' USR2; kill -USR1 $PPID; while :; do sleep 0.05; done"
    code, saved, signals = run(tmp_path, script, before=BeforeLimit(signal.SIGUSR2, UNKNOWN, 3600))
    assert (code, saved, signals.warned, signals.ends) == (6, 1, True, False)


@pytest.mark.slow
def test_a_command_that_does_not_heed_its_signal_is_ended_when_it_has_to_be(tmp_path: Path) -> None:
    script = "trap '' USR2; kill -USR1 $PPID; while :; do sleep 0.05; done"
    code, _, signals = run(tmp_path, script, before=BeforeLimit(signal.SIGUSR2, UNKNOWN, 0.3))
    assert (code, signals.warned, signals.ends) == (143, True, False)


def test_a_step_ends_by_itself_after_sigterm_and_what_it_made_until_then_is_saved(
    tmp_path: Path,
) -> None:
    """`srun` kills what it started when it gets SIGTERM: only Slurm's own word to the steps lets them end."""
    signals, saved = JobSignals(), list[int]()
    asked = list[str]()
    script = "trap '' TERM; kill -TERM $PPID; until [ -e over ]; do sleep 0.05; done; exit 6"

    def save() -> None:
        saved.append(1)
        (tmp_path / "over").touch()

    with open(tmp_path / "out", "wb") as out:
        argv = ["sh", "-c", script]
        output = out.fileno()
        started = Started(argv, tmp_path, os.environ, output, output, asked.append)
        with signals.caught():
            assert run_to_end(started, signals, save, 3600) == 6
    assert (saved, asked, signals.ends) == ([1], [], True)


def test_a_step_gets_other_signals_than_usr1_by_slurm(tmp_path: Path) -> None:
    signals, asked = JobSignals(), list[str]()
    script = "kill -USR1 $PPID; until [ -e told ]; do sleep 0.05; done; exit 6"

    def ask(name: str) -> None:
        asked.append(name)
        (tmp_path / "told").touch()

    with open(tmp_path / "out", "wb") as out:
        argv = ["sh", "-c", script]
        output = out.fileno()
        started = Started(argv, tmp_path, os.environ, output, output, ask)
        with signals.caught():
            before = BeforeLimit(signal.SIGINT, UNKNOWN, 3600)
            assert run_to_end(started, signals, lambda: None, 3600, before) == 6
    assert asked == ["INT"]


def test_one_that_does_not_go_on_may_run_after_its_signal(tmp_path: Path) -> None:
    script = "trap 'got=yes' USR2; kill -USR1 $PPID; until [ $got ]; do sleep 0.05; done; exit 8"
    assert run(tmp_path, script, before=BeforeLimit(signal.SIGUSR2, UNKNOWN))[0] == 8


def test_the_word_about_the_time_limit_ends_nothing_before_the_command_runs() -> None:
    signals = JobSignals()
    with signals.caught_before_the_command():
        signal.raise_signal(signal.SIGUSR1)
    assert signals.saves


@pytest.mark.slow
def test_a_command_gets_its_signal_in_time_though_slurms_word_was_never_heard(
    tmp_path: Path,
) -> None:
    """With a short time limit Slurm says it before the job listens, and only once."""
    end_s = time.time() + 2
    script = "trap 'exit 6' USR2; while :; do sleep 0.05; done"
    before = BeforeLimit(signal.SIGUSR2, LimitClock(1.7, lambda: end_s), 3600)
    code, saved, signals = run(tmp_path, script, before=before)
    assert (code, saved, signals.warned, signals.ends) == (6, 1, True, False)
    assert time.time() < end_s


@pytest.mark.slow
def test_a_word_that_came_while_the_copy_was_made_does_not_end_the_command_as_it_begins(
    tmp_path: Path,
) -> None:
    """A command that has no handler yet is ended by its signal."""
    signals = JobSignals()
    script = "sleep 0.3; trap 'exit 6' USR2; while :; do sleep 0.05; done"
    with open(tmp_path / "out", "wb") as out, signals.caught():
        signal.raise_signal(signal.SIGUSR1)
        argv, output = ["sh", "-c", script], out.fileno()
        started = Started(argv, tmp_path, os.environ, output, output)
        before = BeforeLimit(signal.SIGUSR2, LimitClock(5, lambda: None), 3600)
        assert run_to_end(started, signals, lambda: None, 3600, before) == 6


RINGS = """
import signal, time
from scratchflow.node.job.command import JobSignals
signals = JobSignals()
with signals.caught():
    signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGUSR1))
    signal.setitimer(signal.ITIMER_REAL, 0.00002, 0.00002)
    until_s = time.monotonic() + 1
    while time.monotonic() < until_s:
        signals.arrived.wait(0.0001)
    signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.slow
def test_a_signal_may_come_at_any_moment_of_waiting_for_it() -> None:
    subprocess.run([sys.executable, "-c", RINGS], check=True, timeout=20)


def test_a_hang_up_means_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -HUP $PPID; exit 5")[0] == 5


@pytest.mark.slow
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


def test_an_interpreter_that_the_node_does_not_have_is_named_with_the_script(
    tmp_path: Path,
) -> None:
    for name, mode in (("own", 0o755), ("closed", 0o644)):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(mode)

    def said(program: str) -> str:
        command = [program, "-x", "bad.sh"]
        return cannot_interpret(command, {"PATH": "/usr/bin:/bin"}, tmp_path, "bad.sh")

    assert [said(word) for word in ("/bin/sh", "sh", "./own")] == [""] * 3
    for word in ("/nonexist/interp", "nonexist"):
        assert f"there is no program `{word}`, which the first line of `bad.sh` names" in said(word)
    assert "`./closed` is not executable, which" in said("./closed")


def test_a_command_that_the_node_cannot_start_is_named_with_the_way_out(tmp_path: Path) -> None:
    programs, work = tmp_path / "bin", tmp_path / "work"
    for file in (programs / "thing3", work / "run.sh", work / "bin/tool"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    (work / "notes.sh").write_text("")

    def said(program: str) -> str:
        return cannot_start([program, "-x"], {"PATH": str(programs)}, work)

    assert [said(word) for word in ("thing3", "./run.sh", "run.sh", "bin/tool", "/bin/sh")] == [
        ""
    ] * 5
    assert "no program `thing` on the PATH, but there is `thing3`" in said("thing")
    assert "`environment` in the profile" in said("other")
    assert "`chmod +x ./notes.sh`" in said("./notes.sh")
    assert said("bin/other") == "there is no file `bin/other`"
