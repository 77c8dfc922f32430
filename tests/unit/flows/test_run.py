"""`run` where there is no cluster: the command takes the place of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from scratchflow.flows.run import (
    Wanted,
    _Foreground,
    _require_program,
    cut_error,
    is_ended_by_others,
    job_end,
)
from scratchflow.model.errors import (
    AllocationEnded,
    AllocationMissing,
    CommandSignalled,
    ConnectionLost,
    RunProgramMissing,
)
from scratchflow.model.results import RunCarrier, RunPlace
from scratchflow.process.carried import Outcome
from scratchflow.process.far_words import Way
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.told import ToldCluster


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "SLURM" not in name}
    places = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "STATE")}
    (tmp_path / "DATA/scratchflow/scratch/work/src").mkdir(parents=True)
    return {**kept, **places, "HOME": str(tmp_path)}


def run(
    environment: dict[str, str], *words: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-m", "scratchflow", "run", *words]
    return subprocess.run(argv, env=environment, input=stdin, capture_output=True, check=False)


def test_directory_words_input_and_code_are_the_commands_own(
    environment: dict[str, str], tmp_path: Path
) -> None:
    script = 'pwd; cat; printf "%s|" "$@"; echo err >&2; exit 7'
    done = run(
        environment, "--cwd", "src", "--", "sh", "-c", script, "sh", "a b", "-n", stdin=b"in\n"
    )
    work = tmp_path / "DATA/scratchflow/scratch/work/src"
    assert (done.returncode, done.stdout) == (7, f"{work}\nin\na b|-n|".encode())
    assert done.stderr.splitlines()[-1] == b"err"


def test_a_signal_is_the_commands_own(environment: dict[str, str]) -> None:
    assert run(environment, "--", "sh", "-c", "kill -9 $$").returncode == -signal.SIGKILL


def test_a_missing_directory_is_an_error(environment: dict[str, str]) -> None:
    done = run(environment, "--cwd", "none", "--", "true")
    assert done.returncode == 30
    assert b"there is no directory" in done.stderr


def test_json_is_refused_before_anything_runs(environment: dict[str, str]) -> None:
    done = run(environment, "--json", "--", "echo", "ran")
    assert done.returncode == 2
    assert b"ran" not in done.stdout


def test_a_lost_connection_names_what_may_still_run() -> None:
    outcome = Outcome()
    outcome.started, outcome.group = True, 41
    error = cut_error(outcome, "node-1")
    assert error.exit_code == 14
    assert "process group 41" in error.shown_hint


def test_a_command_that_is_too_long_is_refused_at_once(environment: dict[str, str]) -> None:
    done = run(environment, "--", "echo", "é" * 60_000)
    assert done.returncode == 2
    assert b"too long" in done.stderr


def by_sigterm() -> Outcome:
    outcome = Outcome()
    outcome.started, outcome.code = True, 128 + signal.SIGTERM
    return outcome


def test_only_a_sigterm_of_somebody_else_is_explained() -> None:
    ours = by_sigterm()
    ours.signals = [signal.SIGTERM]
    other = by_sigterm()
    other.code = 1
    assert [is_ended_by_others(one) for one in (by_sigterm(), ours, other)] == [True, False, False]


CARRIER = RunCarrier(job_id=7, node="n", argv=[], terminal_argv=[], shell=["sh"])  # noqa: S604 - no shell is run


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"run carrier": CARRIER}, ""),
        ({"run carrier": ConnectionLost(host="h", reason="r")}, ""),
        (
            {
                "run carrier": AllocationMissing(profile="p"),
                "run place": AllocationEnded(job_id=7, reason="it was cancelled"),
            },
            "job 7 has ended: it was cancelled",
        ),
        (
            {
                "run carrier": msgspec.structs.replace(CARRIER, job_id=8),
                "run place": AllocationMissing(profile="p"),
            },
            "job 7 has ended",
        ),
    ],
)
def test_how_the_job_ended_is_told_when_it_has(
    tmp_path: Path, answers: dict[str, Any], words: str
) -> None:
    assert job_end(ToldCluster(tmp_path, answers), 7) == words


def test_a_command_that_is_gone_with_its_job_is_not_said_to_run() -> None:
    error = cut_error(by_sigterm(), "node-1", "job 7 has ended: it was cancelled")
    assert "job 7 has ended" in str(error)
    assert "may still run" not in error.shown_hint


@pytest.mark.parametrize(
    ("words", "next_step"),
    [
        (["shell"], "run -- bash -l` does without"),
        (["run", "--pty", "--", "cat"], "leave it out here"),
    ],
)
def test_what_needs_a_terminal_is_refused_without_one_before_anything_is_asked(
    environment: dict[str, str], tmp_path: Path, words: list[str], next_step: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[profiles.there]\nlogin = "nobody.invalid"\nstore = "~/store"\n')
    argv = [sys.executable, "-m", "scratchflow", "--config", str(config), *words]
    done = subprocess.run(argv, env=environment, input=b"", capture_output=True, check=False)
    assert done.returncode == 2
    assert next_step in " ".join(done.stderr.decode().split())


def test_a_signal_that_ends_a_command_in_a_terminal_promises_nothing_about_it() -> None:
    def interrupt(signum: int, _: object) -> None:
        raise Interrupted(signum)

    class Start:
        found, login, cluster, environment = None, None, None, os.environ

        def way(self, *_: object, **__: object) -> Start:
            return self

        def in_terminal(self, *_: object) -> list[str]:
            return ["sh", "-c", "kill -TERM $PPID; exec sleep 9873"]

        def argv(self, words: list[str]) -> list[str]:
            return words

    start: Any = Start()
    start.found = msgspec.defstruct("Found", [("terminal_argv", list)])([])
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(CommandSignalled) as caught:
            _Foreground(start, RunPlace(directory="/"))._in_terminal()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.value.exit_code == 128 + signal.SIGTERM
    assert "finishes" not in str(caught.value.hint)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("pyhton-x", 127),
        ("./none", 127),
        ("/etc/passwd", 126),
        ("/etc", 126),
        ("./there", 0),
        ("sh", 0),
        ("only-sourced", 0),
    ],
)
def test_what_cannot_be_started_is_not_left_alone(tmp_path: Path, program: str, code: int) -> None:
    """In its directory and environment, without touching our input."""
    for name in ("there", "bin/only-sourced"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    sourced = tmp_path / "environment.sh"
    sourced.write_text(f"PATH={tmp_path}/bin:$PATH\n")
    start: Any = SimpleNamespace(
        wanted=Wanted(command=(program, "x")),
        found=SimpleNamespace(node="node-1", argv=[]),
        environment=dict(os.environ),
        way=lambda carrier: Way([], carrier, quotes=False),
        directory=lambda place: place.directory,
    )
    place = RunPlace(directory=str(tmp_path), sourced=str(sourced))
    if not code:
        _require_program(start, place)
        return
    with pytest.raises(RunProgramMissing) as caught:
        _require_program(start, place)
    reason = {126: "not executable", 127: "no such program"}[code]
    assert reason in str(caught.value)
