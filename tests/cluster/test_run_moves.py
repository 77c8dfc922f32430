"""`run` while nodes come and go."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.test_run import detached, run, start, way_file
from tests.terminal import LARGE, Terminal


def test_without_a_node_it_refuses_and_up_takes_one(laptop: Laptop) -> None:
    assert run(laptop, "--", "true").returncode == 25
    done = run(laptop, "--up", "--", "hostname")
    assert done.returncode == 0
    assert done.stdout.startswith(b"node-")


@pytest.mark.usefixtures("job_steps")
def test_after_a_move_it_runs_on_the_new_node(laptop: Laptop) -> None:
    """The way that is known leads into a job that has ended."""
    laptop.data("up", "--node", "1")
    assert run(laptop, "--", "hostname").stdout == b"node-1\n"
    known = way_file(laptop).read_bytes()
    laptop.data("hop", "--node", "2")
    assert way_file(laptop).read_bytes() == known
    done = run(laptop, "--", "hostname", stdin=b"kept")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"node-2\n", b"")


@pytest.mark.slow
def test_an_older_copy_that_an_earlier_job_left_is_warned_of_once(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    laptop.data("hop", "--node", "2")
    assert run(laptop, "--", "touch", "newer").returncode == 0
    laptop.data("clear")
    laptop.data("allocate", "--node", "1")
    done = run(laptop, "--", "ls")
    assert (done.returncode, done.stdout) == (0, b"")
    said = " ".join(done.stderr.decode().split())
    assert said.startswith("warning: this copy of the workspace is from snapshot ")
    assert "`scratchflow up` brings that one" in said
    # Over a way that is known nobody asks again.
    assert (run(laptop, "--", "ls").stderr == b"") is minicluster.has_steps
    laptop.data("up")
    done = run(laptop, "--", "ls")
    assert (done.stdout, done.stderr) == (b"newer\n", b"")


def test_it_has_the_profiles_environment_and_a_change_counts_at_once(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    laptop.data("config", "set", "environment.prologue", 'export GREETING="a  b\'s $((40+2))"')
    for _ in range(2):
        done = run(laptop, "--", "printenv", "GREETING", "SLURM_JOB_ID")
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, b"a  b's 42")
    assert way_file(laptop).exists() is minicluster.has_steps
    laptop.data("config", "set", "environment.prologue", "echo no such layer >&2; false")
    failed = run(laptop, "--", "echo", "ran")
    assert (failed.returncode, failed.stdout) == (40, b"")
    assert b"no such layer" in failed.stderr
    laptop.data("config", "unset", "environment.prologue")
    assert run(laptop, "--", "printenv", "GREETING").returncode == 1


@pytest.mark.usefixtures("job_steps")
def test_a_known_way_is_left_when_another_job_is_worked_in(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    """As when another laptop has just moved, and the old job still runs."""
    laptop.data("up", "--node", "1")
    held = laptop.data("status")["allocation"]["job_id"]
    note = "/home/alice/.local/share/scratchflow/current/mini"
    assert minicluster.exec("login", "cat", note).stdout == f"{held}\n"
    assert run(laptop, "--", "true").returncode == 0
    minicluster.exec("login", "sh", "-c", f"echo {held + 1000} > {note}")
    known = way_file(laptop).stat().st_ino
    done = run(laptop, "--", "wc", "-c", stdin=b"kept")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"4", b"")
    assert way_file(laptop).stat().st_ino != known
    assert minicluster.exec("login", "cat", note).stdout == f"{held}\n"


def test_clear_names_what_was_left_running_before_the_node_goes(laptop: Laptop) -> None:
    laptop.data("up", "--node", "1")
    window = detached(laptop, "sleep 9876")
    lines = laptop.lines("clear")
    told = [line.get("code") for line in lines]
    assert f"window `{window}`" in lines[told.index("run.ends")]["message"]
    phases = [line.get("phase") for line in lines]
    assert told.index("run.ends") < phases.index("the last backup")
    assert lines[-1]["data"]["released"]


@contextmanager
def endless(laptop: Laptop) -> Iterator[subprocess.Popen[bytes]]:
    """A command that has started, and that ends by itself only with the test."""
    with start(laptop, "--", "sh", "-c", "echo on; exec sleep 9877") as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"on\n"
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("job_steps")
def test_a_command_that_clear_ends_says_so_beside_its_exit_code(laptop: Laptop) -> None:
    """One that has found its way itself, and one over the way that is known by then."""
    laptop.data("up", "--node", "1")
    way_file(laptop).unlink(missing_ok=True)
    with endless(laptop) as first:
        retry_until(way_file(laptop).exists, "the way is noted")
        with endless(laptop) as again:
            laptop.data("clear")
            said = [process.communicate()[1].decode() for process in (first, again)]
    assert (first.returncode, again.returncode) == (143, 143)
    assert ["has ended" in words for words in said] == [True, True], said


@pytest.mark.usefixtures("job_steps")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["shell"], "the shell"),
        pytest.param(["run", "--pty", "--", "sh"], "the command", marks=pytest.mark.slow),
    ],
)
def test_what_clear_ends_in_a_terminal_says_so(laptop: Laptop, words: list[str], what: str) -> None:
    laptop.data("up", "--node", "1")
    with Terminal(laptop.argv(*words), laptop.environment, size=LARGE) as terminal:
        terminal.wait_for("$")
        laptop.data("clear")
        assert terminal.end() in {129, 137, 143}
    assert f"has ended: it was cancelled; {what} ended with it" in terminal.text


def test_a_changed_startup_file_counts_at_once(laptop: Laptop, minicluster: Minicluster) -> None:
    laptop.data("up", "--node", "1")
    laptop.data("config", "set", "environment.prologue", "export LAYER=1")
    profile = minicluster.shared("/home/alice/.bash_profile")
    try:
        for value in ("first", "second", "third"):
            profile.write_text(f"export STARTED={value}\n")
            for _ in range(2):
                done = run(laptop, "--", "printenv", "STARTED")
                assert (done.returncode, done.stdout.decode().strip()) == (0, value)
    finally:
        profile.unlink()
        laptop.data("config", "unset", "environment.prologue")
