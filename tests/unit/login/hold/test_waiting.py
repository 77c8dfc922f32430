"""Whoever waits for a node hears of every change, and once for how long."""

from __future__ import annotations

import pytest

from scratchflow.cluster.command import command_environment
from scratchflow.cluster.slurm.salloc import DirectHolder
from scratchflow.cluster.slurm.wait import Patience
from scratchflow.config.settings import Asked, load_settings
from scratchflow.login.hold.waiting import how_long, submission
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation
from scratchflow.model.events import Event, Log, State


@pytest.mark.parametrize(
    ("patience", "resumed", "words"),
    [
        (Patience(600), False, "waiting for up to 10m; Ctrl-C withdraws the request"),
        (Patience(None), False, "waiting without limit; Ctrl-C withdraws the request"),
        (
            Patience(600, keep_waiting=True),
            False,
            "waiting for up to 10m, then the request stays in the queue; Ctrl-C withdraws the request, a lost connection does not",
        ),
        (
            Patience(600),
            True,
            "waiting for up to 10m; Ctrl-C stops waiting and leaves job 7 in the queue",
        ),
    ],
)
def test_it_is_said_what_a_wait_may_cost_and_how_to_end_it(
    patience: Patience, resumed: bool, words: str
) -> None:
    assert how_long(patience, 7, resumed=resumed) == words


def test_a_state_is_told_when_it_changes_and_how_long_only_once() -> None:
    heard: list[Event] = []
    login = LoginHost(load_settings(Asked(), {}), {}, heard.append)
    watch = submission(login, DirectHolder(command_environment({})), Patience(60)).watch
    waiting = Allocation(job_id=7, name="x", state="pending")
    running = Allocation(job_id=7, name="x", state="running", nodes=("node-1",))
    for seen in (waiting, waiting, running):
        watch(seen)
    states = [event for event in heard if isinstance(event, State)]
    assert [(one.state, one.previous) for one in states] == [
        ("pending", None),
        ("running", "pending"),
    ]
    assert [event.for_terminal for event in heard if isinstance(event, Log)] == [True]
