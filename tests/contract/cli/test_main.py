"""The first lines that run: the version at once, and an end that leaves nobody behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.contract.report.test_output import in_shell
from tests.contract.test_json_protocol import PROGRAM, ROOT


def test_the_version_takes_a_stdout_that_is_closed_or_full(environment: dict[str, str]) -> None:
    closed = in_shell(environment, ">&-", "--version")
    assert (closed.returncode, closed.stderr) == (0, "")
    full = in_shell(environment, ">/dev/full", "--version")
    assert full.returncode == 1
    assert full.stderr == "error: cannot write the output: No space left on device\n"


def test_the_version_ends_quietly_when_its_reader_is_gone(environment: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, "--version"],
        env=environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


LAST_WORDS = (
    "import atexit, sys, threading, time\n"
    "atexit.register(lambda: sys.stderr.write('at exit\\n'))\n"
    "{before}\n"
    "from scratchflow.cli.main import main\n"
    "main()"
)

A_THREAD = (
    "def late():\n"
    "    time.sleep(0.3)\n"
    "    sys.stderr.write('thread\\n')\n"
    "threading.Thread(target=late).start()"
)


@pytest.mark.parametrize(("before", "said"), [("", ["at exit"]), (A_THREAD, ["thread", "at exit"])])
def test_whoever_has_something_to_finish_does(before: str, said: list[str]) -> None:
    """The interpreter is not taken apart at the end; handlers and threads still have their turn."""
    script = LAST_WORDS.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", script, "nosuchverb", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.split("\n")[:-1] == said
    assert '"exit_code":2' in done.stdout.replace(" ", "")
