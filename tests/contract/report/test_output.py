"""What is written to standard output and standard error when one of them is closed, full or gone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.contract.test_json_protocol import PROGRAM


def test_a_closed_stdout_never_lands_in_a_file_of_ours(
    environment: dict[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("")
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            'exec "$@" >&-',
            "sh",
            *PROGRAM,
            "config",
            "show",
            "--config",
            str(config),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert config.read_text() == ""


def in_shell(
    environment: dict[str, str], redirection: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """The program with one of its descriptors as a shell would set it up."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *PROGRAM, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [(["snapshots", "nosuch"], 2), (["nosuchverb"], 2), (["config", "show", "-p", "nosuch"], 10)],
)
def test_an_error_nobody_can_read_keeps_its_exit_code(
    environment: dict[str, str], redirection: str, arguments: list[str], exit_code: int
) -> None:
    assert in_shell(environment, redirection, *arguments).returncode == exit_code


def test_a_remark_nobody_can_read_does_not_end_the_command(environment: dict[str, str]) -> None:
    work = Path(environment["XDG_DATA_HOME"]) / "scratchflow/scratch/work"
    work.mkdir(parents=True)
    os.mkfifo(work / "pipe")  # worth a warning
    done = in_shell(environment, "2>/dev/full", "backup", "--verbose")
    assert done.returncode == 0
    assert done.stdout.startswith("snapshot ")
    reading, writing = os.pipe()
    os.close(reading)
    again = subprocess.run(
        [*PROGRAM, "backup", "--full", "--verbose"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=writing,
        text=True,
        check=False,
    )
    os.close(writing)
    assert again.returncode == 0
    assert again.stdout.startswith("snapshot ")
