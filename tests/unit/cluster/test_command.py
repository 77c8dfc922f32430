"""Commands are bounded, and nothing of the user's own settings changes what they print."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scratchflow.cluster.command import (
    CommandMissing,
    CommandUnanswered,
    command_environment,
    local_run,
)
from scratchflow.cluster.slurm.salloc import DirectHolder

RUN = local_run({"PATH": os.environ["PATH"]})


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_command_says_and_how_it_ends() -> None:
    done = RUN(["sh", "-c", r"printf 'a\377'; echo b >&2; exit 3"], 60)
    assert (done.returncode, done.text, done.error_text) == (3, "a\udcff", "b\n")


@pytest.mark.slow
def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    with pytest.raises(CommandUnanswered, match="`sh` gave no answer within"):
        RUN(["sh", "-c", f"sleep 1000 & echo $! >{noted}; wait"], 0.5)
    child = int(noted.read_text())
    deadline = time.monotonic() + 60
    while alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(CommandMissing, match="no-such-command"):
        RUN(["no-such-command"], 60)


def test_a_command_that_the_system_does_not_start_right_now() -> None:
    with pytest.raises(CommandUnanswered, match="`true` cannot be started: Argument list too long"):
        RUN(["true", "x" * 10_000_000], 60)


def test_the_users_own_formats_and_the_job_around_us_are_left_out() -> None:
    given = {
        "PATH": "/bin",
        "SLURM_CONF": "/etc/slurm.conf",
        "SLURM_CLUSTERS": "big",
        "SQUEUE_FORMAT": "%i",
        "SQUEUE_STATES": "RUNNING",
        "SINFO_FORMAT": "%n",
        "SLURM_TIME_FORMAT": "relative",
        "SLURM_JOB_ID": "7",
        "SLURM_NTASKS": "9",
        "SALLOC_NO_SHELL": "1",
        "LC_ALL": "de_DE.UTF-8",
    }
    kept = ("PATH", "SLURM_CONF", "SLURM_CLUSTERS")
    expected = {name: given[name] for name in kept}
    assert command_environment(given) == {**expected, "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}


def test_a_direct_salloc_is_heard_and_stopped() -> None:
    holder = DirectHolder({"PATH": os.environ["PATH"]})
    assert (holder.said(), holder.exit_code()) == ("", None)
    holder.stop()
    holder.start(["sh", "-c", "echo salloc: Pending >&2; exec sleep 1000"])
    deadline = time.monotonic() + 60
    while not holder.said():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert (holder.said(), holder.exit_code()) == ("salloc: Pending\n", None)
    holder.stop()
    holder.stop()
    assert holder.exit_code() == 128 + 15


def test_a_direct_salloc_that_is_not_there() -> None:
    with pytest.raises(CommandMissing, match="no-such-command"):
        DirectHolder({"PATH": "/bin"}).start(["no-such-command"])


def test_slurm_needs_no_libtmux() -> None:
    rooms = (
        "slurm.client",
        "slurm.submit",
        "slurm.nodes",
        "tmux.server",
        "tmux.window",
        "tmux.no_scheduler",
    )
    program = "import sys\n" + "".join(f"import scratchflow.cluster.{room}\n" for room in rooms)
    subprocess.run(
        [sys.executable, "-c", f"{program}assert 'libtmux' not in sys.modules"], check=True
    )
