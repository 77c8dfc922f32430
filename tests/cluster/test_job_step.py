"""A step of a real job keeps the contract of the transports, as far as `srun` lets it.

`srun` writes lines of its own to stderr, and has its own code for a program that is missing.
"""

from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Iterator

import pytest

from scratchflow.model.allocation import RunningAllocation
from scratchflow.reach.node import JobStep
from tests.cluster.minicluster import Minicluster, retry_until
from tests.contract.ssh.transport.test_base import (  # noqa: F401 - pytest runs them from here, too
    test_a_command_that_takes_too_long_is_given_up,
    test_a_signal_is_told_by_a_code_of_its_own,
    test_a_stream_of_bytes_that_are_no_text,
    test_binary_input_comes_back_unchanged,
    test_every_code_is_the_commands_own,
    test_hostile_words_arrive_as_they_are,
    test_input_that_nobody_reads_does_no_harm,
    test_it_says_what_it_is_and_why,
    test_many_lines_and_much_noise_pass,
    test_no_input_is_an_empty_input,
    test_what_is_no_command_is_a_mistake,
)

pytestmark = pytest.mark.usefixtures("job_steps")


@pytest.fixture(scope="module")
def transport(
    minicluster: Minicluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JobStep]:
    """A step of a job of alice's; the `srun` on this machine's PATH is that of the login host."""
    job = minicluster.allocate("node-1")
    programs = tmp_path_factory.mktemp("bin")
    srun = shlex.join(minicluster._argv(["exec", "-u", "alice", "login", "srun"]))
    (programs / "srun").write_text(f'#!/bin/sh\nexec {srun} "$@"\n')
    (programs / "srun").chmod(0o755)
    environment = minicluster._environment()
    path = f"{programs}:{environment['PATH']}"
    held = RunningAllocation(job_id=int(job), name="x", state="running", nodes=("node-1",))
    yield JobStep(held, {**environment, "PATH": path})
    minicluster.exec("login", "scancel", "--user=alice")


@pytest.fixture(autouse=True)
def python_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")


def test_output_errors_and_code_come_back_among_the_words_of_srun(transport: JobStep) -> None:
    done = transport.run(["sh", "-c", "echo out; echo err >&2; exit 7"], timeout_s=60)
    assert (done.returncode, done.stdout) == (7, b"out\n")
    assert b"err" in done.stderr.splitlines()


def test_ten_megabytes_pass(transport: JobStep) -> None:
    data = random.Random(1).randbytes(10_000_000)  # noqa: S311 - repeatable on purpose
    assert transport.run(["cat"], stdin=data, timeout_s=60).stdout == data


def test_a_missing_program_is_an_error(transport: JobStep) -> None:
    assert transport.run(["no-such-program-here"], timeout_s=60).returncode > 0


def test_lines_come_as_they_are_printed(transport: JobStep) -> None:
    script = "echo ready; read -r line; echo got $line; printf 'no end'; exit 3"
    with transport.stream(["sh", "-c", script], stdin=b"request\n") as lines:
        assert next(lines) == b"ready"
        assert lines.returncode is None
        assert list(lines) == [b"got request", b"no end"]
        assert lines.returncode == 3


def test_a_closed_stream_ends_a_command_that_watches_its_input(
    transport: JobStep, minicluster: Minicluster
) -> None:
    def runs() -> bool:
        found = minicluster.exec("node-1", "pgrep", "-f", "[i]ts-name", check=False)
        return found.returncode == 0

    argv = ["sh", "-c", "echo ready; cat > /dev/null; :", "its-name"]
    with transport.stream(argv, stdin=b"go\n", hold_stdin=True) as lines:
        assert next(lines) == b"ready"
        assert runs()
    retry_until(lambda: not runs(), "the command ends")
