"""A clock that shows a year no interpreter can count to is told as that, not as a bug."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.test_json_protocol import checked

# What the real `time.time` does after April 2262; a machine's own clock cannot be set that far.
PROGRAM = """
import sys, time

def absurd():
    raise OverflowError("timestamp too large to convert to C _PyTime_t")

time.time = time.time_ns = absurd
from scratchflow.cli.main import main

main()
"""


VERBS = ["create", "backup", "restore", "restore yesterday", "status", "snapshots list"]


def run(
    environment: dict[str, str], tmp_path: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    """A command on a machine with that clock, whose workspace has nothing in it yet."""
    config = tmp_path / "config.toml"
    config.write_text(
        '[profiles.test]\nscheduler = "none"\n'
        f'scratch = "{tmp_path}/scratch"\nstore = "{tmp_path}/store"\n'
    )
    (tmp_path / "scratch/work").mkdir(parents=True, mode=0o700)
    (tmp_path / "scratch").chmod(0o700)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words, "--config", str(config)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_done_and_the_clock_is_named(
    environment: dict[str, str], tmp_path: Path, verb: str
) -> None:
    done = run(environment, tmp_path, *verb.split(), "--json")
    last = checked(done.stdout, done.returncode)[-1]
    assert (last["code"], last["exit_code"]) == ("clock.unusable", 10)
    assert "`date`" in last["hint"]
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_people_read_the_same(environment: dict[str, str], tmp_path: Path, verb: str) -> None:
    done = run(environment, tmp_path, *verb.split())
    assert done.returncode == 10
    assert "error: this machine's clock shows a year after 2262" in done.stderr
    assert "hint: `date` shows" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "store").exists()
