"""`salloc` in a window of a real tmux: heard, ended with its window, and asked again when tmux lost its words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.cluster.tmux.server import Tmux
from scratchflow.cluster.tmux.window import NodeShell, WindowHolder, show_node
from scratchflow.model.allocation import RunningAllocation
from tests.unit.cluster.tmux.conftest import retry_until

SLEEP = ["sleep", "1000"]

# A child that was cut off is collected late, and the warning of that would fail whichever test comes next.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_a_window_holds_a_command_and_lets_it_go(tmux: Tmux) -> None:
    holder = WindowHolder(tmux, "aws", "s")
    assert (holder.said(), holder.exit_code()) == ("", None)
    holder.start(["sh", "-c", "echo salloc: Pending; exec sleep 1000"])
    retry_until(lambda: "Pending" in holder.said())
    assert holder.exit_code() is None
    pane = tmux.pane("aws")
    assert pane is not None
    holder.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pane.pid, 0)
    assert tmux.session("aws") is None
    holder.stop()


def test_words_that_tmux_lost_are_asked_for_again(tmux: Tmux, tmp_path: Path) -> None:
    once = f"[ -e {tmp_path}/1 ] && echo salloc: error: no; touch {tmp_path}/1; exit 1"
    holder = WindowHolder(tmux, "aws", "s")
    holder.start(["sh", "-c", once])
    retry_until(lambda: holder.exit_code() is not None)
    assert holder.exit_code() == 1
    assert "salloc: error: no" in holder.said()
    holder.stop()


def test_a_command_that_never_says_a_word_is_not_asked_for_ever(tmux: Tmux, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    holder = WindowHolder(tmux, "aws", "s")
    holder.start(["sh", "-c", f"echo >>{runs}; exit 7"])
    retry_until(lambda: holder.exit_code() is not None)
    assert holder.exit_code() == 7
    assert runs.read_text() == "\n" * 4
    holder.stop()


def test_a_window_closed_by_somebody_else_is_seen_to_be_gone(tmux: Tmux) -> None:
    holder = WindowHolder(tmux, "aws", "s")
    holder.start(SLEEP)
    assert tmux.kill("aws")
    assert (holder.said(), holder.exit_code()) == ("", 129)
    holder.stop()


def of_job(job_id: int) -> list[str]:
    return ["sh", "-c", "sleep 1000", "sh", f"--jobid={job_id}"]


@pytest.mark.parametrize("ended", [[], [7]])
def test_a_shell_of_a_job_that_has_ended_makes_way_for_one_on_the_node_that_is_held(
    tmux: Tmux, ended: list[int]
) -> None:
    """Slurm may take a minute to kill it."""
    before = tmux.ensure("aws", "s", of_job(7))
    held = RunningAllocation(job_id=8, name="n", state="running", nodes=("node-2",))
    shown = show_node(
        tmux, "aws", "s", held, NodeShell(["/bin/sh", "-l"]), has_ended=ended.__contains__
    )
    assert (shown.pid != before.pid) == bool(ended)
