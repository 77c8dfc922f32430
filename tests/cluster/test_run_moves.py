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
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["shell"], "the shell"),
        pytest.param(["run", "--pty", "--", "sh"], "the command", marks=pytest.mark.slow),
    ],
)
def test_clear_names_what_was_left_running_and_what_it_ends_says_so(
    laptop: Laptop, words: list[str], what: str
) -> None:
    """A window, a command that has found its way itself, one over the way that is known by then, and a terminal."""
    laptop.data("up", "--node", "1")
    window = detached(laptop, "sleep 9876")
    way_file(laptop).unlink(missing_ok=True)
    with (
        endless(laptop) as first,
        Terminal(laptop.argv(*words), laptop.environment, size=LARGE) as terminal,
    ):
        terminal.wait_for("$")
        retry_until(way_file(laptop).exists, "the way is noted")
        with endless(laptop) as again:
            lines = laptop.lines("clear")
            said = [process.communicate()[1].decode() for process in (first, again)]
        assert terminal.end() in {129, 137, 143}
    told = [line.get("code") for line in lines]
    assert f"window `{window}`" in lines[told.index("run.ends")]["message"]
    phases = [line.get("phase") for line in lines]
    assert told.index("run.ends") < phases.index("the last backup")
    assert lines[-1]["data"]["released"]
    assert (first.returncode, again.returncode) == (143, 143)
    assert ["has ended" in words for words in said] == [True, True], said
    assert f"has ended: it was cancelled; {what} ended with it" in terminal.text


@pytest.mark.slow
@pytest.mark.usefixtures("job_steps")
def test_a_shell_on_a_node_that_loses_power_is_no_success(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    """What is typed next would go to the laptop."""
    laptop.data("up", "--node", "2")
    with Terminal(laptop.argv("shell"), laptop.environment, size=LARGE) as terminal:
        terminal.wait_for("$")
        terminal.press("exit 0\r")
        assert terminal.end() == 0
    assert "lost" not in terminal.text
    with Terminal(laptop.argv("shell"), laptop.environment, size=LARGE) as terminal:
        terminal.wait_for("$")
        minicluster.run("crash", "node-2")
        assert terminal.end() == 14
    said = " ".join(terminal.text.split())
    assert "error: the connection to `node-2` was lost while the shell ran: " in said
    assert [row for row in terminal.all_rows if row.startswith("error: ")], "on a line of its own"
    assert "`scratchflow up` takes another node" in said
