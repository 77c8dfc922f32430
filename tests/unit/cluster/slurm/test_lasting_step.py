"""A step that is cut loose goes on without us; one that is given up is gone, whatever it ignores."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.lasting_step import (
    LastingStep,
    signal_step,
    start_lasting_step,
    step_runs,
)
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.process.waiting import looks
from scratchflow.testing.command import completed


def start(script: str, stdin: bytes = b"") -> LastingStep:
    return start_lasting_step(["sh", "-c", script], stdin=stdin, environment=os.environ)


def until(condition: Callable[[], object]) -> None:
    for _ in looks(20, 0.01):
        if condition():
            return
    pytest.fail("it never happened")


def test_it_reads_its_input_and_its_output_can_be_looked_at() -> None:
    step = start("read line; echo got $line; echo next; exec sleep 60", b"a request\n")
    until(lambda: len(step.output_lines()) == 2)
    assert step.output_lines() == [b"got a request", b"next"]
    assert step.failure() is None
    assert not step.has_ended_well()
    step.give_up()


def test_what_it_started_outlives_the_cut(tmp_path: Path) -> None:
    """As a step outlives its `srun`: what is in another session gets no signal."""
    note = tmp_path / "pid"
    child = f"import os,time; os.setsid(); open({str(note)!r}, 'w').write(str(os.getpid()) + '.'); time.sleep(60)"
    step = start(f'{sys.executable} -S -c "{child}" & wait')
    until(lambda: note.exists() and note.read_text().endswith("."))
    pid = int(note.read_text()[:-1])
    step.cut_loose()
    os.kill(pid, 0)
    os.kill(pid, signal.SIGKILL)


def test_one_that_is_given_up_is_told_so_that_it_can_clean_up(tmp_path: Path) -> None:
    note = tmp_path / "cleaned"
    step = start(f"trap 'touch {note}; exit' TERM; echo up; while :; do sleep 0.01; done")
    until(step.output_lines)
    step.give_up()
    assert note.exists()
    step.give_up()


def test_what_ends_at_once_says_why() -> None:
    for script, words in {
        "echo no >&2; echo such node >&2; exit 1": "such node",
        "exit 7": "`sh` exited with 7",
    }.items():
        step = start(script, b"x" * 200_000)
        until(step.failure)
        assert step.failure() == words  # however often it is asked
        assert not step.has_ended_well()
        step.cut_loose()


def test_one_that_has_nothing_to_do_has_ended_well() -> None:
    step = start("exit 0")
    until(step.has_ended_well)
    step.cut_loose()


def test_of_much_output_the_last_is_kept() -> None:
    step = start("yes | head -c 3000000; echo last")
    until(step.has_ended_well)
    lines = step.output_lines()
    assert lines[-1] == b"last"
    assert len(lines) < 1_000_000
    step.cut_loose()


def test_a_program_that_is_missing_leaves_nothing_open() -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        start_lasting_step(["/no/srun"], stdin=b"", environment={})
    assert len(os.listdir("/dev/fd")) == before


def asking(code: int, said: str = "", error: str = "") -> tuple[Slurm, list[list[str]]]:
    asked: list[list[str]] = []

    def run(argv: object, timeout_s: float) -> object:
        assert timeout_s > 0
        asked.append(list(argv))  # type: ignore[call-overload]  # a list of words
        return completed(code, said, error)

    return Slurm(run, "alice", "login"), asked  # type: ignore[arg-type]  # as wide as it needs


def test_whether_a_step_runs_is_yes_no_or_not_known() -> None:
    assert step_runs(asking(0, "12.0\n12.10\n12.extern\n")[0], 12, 0) is True
    assert step_runs(asking(0, "12.0\n12.10\n12.extern\n")[0], 12, 1) is False
    assert step_runs(asking(1, "", "slurm_load_jobs error: odd")[0], 12, 0) is None
    assert step_runs(asking(1, "", "Unable to contact slurm controller")[0], 12, 0) is None


def test_a_signal_goes_to_the_one_step_of_the_user() -> None:
    slurm, asked = asking(0)
    signal_step(slurm, 12, 3, "USR1")
    assert asked == [["scancel", "--user=alice", "--signal=USR1", "12.3"]]
    signal_step(asking(1, "", "scancel: error: Invalid job id 12.3")[0], 12, 3, "TERM")
    with pytest.raises(SlurmUnreachable):
        signal_step(asking(1, "", "scancel: error: Access denied")[0], 12, 3, "TERM")
    with pytest.raises(ValueError, match="not a signal"):
        signal_step(slurm, 12, 3, "HUP")
