"""The one error boundary, in the real program: a crash, a signal or a full disk is one outcome with one exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.contract.test_json_protocol import PROGRAM, checked

CRASHING = (
    "from scratchflow.flows import config\n"
    "def crash(*_): raise RuntimeError('secret=canary')\n"
    "config.path = crash\n"
    "from scratchflow.cli.main import main; main()\n"
)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_crash_is_an_error_with_a_report_and_no_traceback(
    environment: dict[str, str], tmp_path: Path, flags: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRASHING, "config", "path", *flags],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    if flags:
        assert checked(done.stdout, done.returncode)[-1]["code"] == "internal.bug"
    (report,) = (tmp_path / "state/scratchflow/crashes").iterdir()
    assert str(report) in done.stdout + done.stderr
    assert report.stat().st_mode & 0o777 == 0o600
    assert "in crash" in report.read_text()
    assert "canary" not in report.read_text() + done.stdout + done.stderr


def test_no_more_memory_is_no_defect(environment: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRASHING.replace("RuntimeError('secret=canary')", "MemoryError"),
         "config", "path", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert checked(done.stdout, done.returncode)[-1]["code"] == "workspace.limit_reached"
    assert not (tmp_path / "state/scratchflow/crashes").exists()


@pytest.fixture
def waiting(environment: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that has said hello and now waits for a configuration that never comes."""
    fifo = tmp_path / "never.toml"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*PROGRAM, "config", "show", "--json", "--config", str(fifo)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def _signalled(process: subprocess.Popen[str], signum: signal.Signals) -> str:
    """What it still prints until the signal has ended it.

    Python acts on a signal between two steps of its own: one that comes right before it begins to wait is not heard.
    """
    while True:
        process.send_signal(signum)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=5)[0] or ""


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_an_error_and_128_plus_its_number(
    waiting: subprocess.Popen[str], signum: signal.Signals
) -> None:
    assert waiting.stdout is not None
    hello = waiting.stdout.readline()
    rest = _signalled(waiting, signum)
    assert waiting.returncode == 128 + signum
    assert checked(hello + rest, 128 + signum)[-1]["code"] == "signal.ended"


def test_a_closed_pipe_ends_quietly_as_sigpipe_would(waiting: subprocess.Popen[str]) -> None:
    assert waiting.stdout is not None
    waiting.stdout.readline()
    waiting.stdout.close()
    waiting.stdout = None
    _signalled(waiting, signal.SIGTERM)
    assert waiting.returncode == 141


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_full_disk_behind_stdout_is_said_on_stderr(
    environment: dict[str, str], flags: list[str]
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "config", "path", *flags],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "cannot write the output" in done.stderr
    assert "Traceback" not in done.stderr


def boundary(
    flow: str, *arguments: str, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """The program with a `config path` that does this instead."""
    program = (
        "import os, signal, sys\n"
        "from scratchflow.flows import config\n"
        f"def instead(*_):\n    {flow}\n"
        "config.path = instead\n"
        "from scratchflow.cli.main import main; main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program, "config", "path", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "flow",
    [
        "raise RecursionError",
        "raise MemoryError",
        "return None",
        "raise OSError('\\ud800')",
    ],
)
def test_whatever_a_flow_does_there_is_one_outcome_and_no_traceback(
    environment: dict[str, str], flow: str
) -> None:
    done = boundary(flow, "--json", environment=environment)
    assert "Traceback" not in done.stderr
    assert checked(done.stdout, done.returncode)[-1]["type"] == "error"
    assert done.returncode not in {0, 101}


def test_a_signal_after_the_outcome_is_decided_changes_nothing(
    environment: dict[str, str],
) -> None:
    """The result's lines are made while signals count; once it is decided they do not."""
    flow = (
        "from scratchflow.report.jsonl import JsonLines as lines; real = lines.succeed;"
        " lines.succeed = lambda *each: (os.kill(os.getpid(), signal.SIGTERM), real(*each))[1];"
        " from scratchflow.model.results.config import ConfigPath;"
        " return ConfigPath(path='x', exists=False)"
    )
    done = boundary(flow, "--json", environment=environment)
    assert done.returncode == 0
    assert checked(done.stdout, 0)[-1]["type"] == "summary"
