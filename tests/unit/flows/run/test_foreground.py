"""A command in a terminal: how it ends, and what is said of that."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scratchflow.flows.run.foreground import Foreground
from scratchflow.flows.run.start import Wanted
from scratchflow.model.errors.allocation import AllocationEnded, AllocationMissing
from scratchflow.model.errors.run import CommandSignalled
from scratchflow.model.events import Warned
from scratchflow.model.results.run import RunPlace
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.run.test_ended import CARRIER
from tests.unit.flows.told import ToldCluster


def in_terminal(script: str, *, cluster: Any = None, command: tuple[str, ...] = ()) -> Foreground:
    """A command in a terminal, as if the login host were here."""
    way = SimpleNamespace(argv=lambda words: words)
    start: Any = SimpleNamespace(
        cluster=cluster,
        login=None,
        found=CARRIER,
        wanted=Wanted(command=command, terminal=True),
        environment=os.environ,
        way=lambda *_, **__: way,
        in_terminal=lambda *_: ["sh", "-c", script],
    )
    return Foreground(start, RunPlace(directory="/"))


def test_a_signal_that_ends_a_command_in_a_terminal_promises_nothing_about_it() -> None:
    def interrupt(signum: int, _: object) -> None:
        raise Interrupted(signum)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(CommandSignalled) as caught:
            in_terminal("kill -TERM $PPID; exec sleep 9873").code()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.value.exit_code == 128 + signal.SIGTERM
    assert "finishes" not in str(caught.value.hint)


ENDED = {
    "run carrier": AllocationMissing(profile="p"),
    "run place": AllocationEnded(job_id=7, reason="it was cancelled"),
}


@pytest.mark.parametrize(
    ("command", "name", "what"),
    [((), "KILL", "the shell"), (("sleep", "9"), "TERM", "the command"), ((), "HUP", "the shell")],
)
def test_what_ends_with_its_job_in_a_terminal_is_told(
    tmp_path: Path, command: tuple[str, ...], name: str, what: str
) -> None:
    cluster = ToldCluster(tmp_path, ENDED)
    code = in_terminal(f"kill -{name} $$", cluster=cluster, command=command).code()
    assert code == 128 + signal.Signals[f"SIG{name}"]
    (warned,) = cluster.told
    assert isinstance(warned, Warned)
    assert warned.message == f"job 7 has ended: it was cancelled; {what} ended with it"


@pytest.mark.parametrize(("script", "asked"), [("kill -KILL $$", 1), ("exit 9", 0)])
def test_what_ends_in_a_terminal_while_its_job_runs_is_not_explained(
    tmp_path: Path, script: str, asked: int
) -> None:
    cluster = ToldCluster(tmp_path, {"run carrier": CARRIER})
    assert in_terminal(script, cluster=cluster).code() in {137, 9}
    assert (cluster.told, len(cluster.asked)) == ([], asked)
