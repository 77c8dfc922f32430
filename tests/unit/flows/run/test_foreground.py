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
from scratchflow.model.errors.allocation import AllocationEnded, AllocationMissing, NodeFailed
from scratchflow.model.errors.run import CommandSignalled, RunCut
from scratchflow.model.events import Warned
from scratchflow.model.results.run import RunPlace
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.run.test_ended import CARRIER
from tests.unit.flows.told import ToldCluster


def in_terminal(
    script: str, *, cluster: Any = None, command: tuple[str, ...] = (), login: Any = None
) -> Foreground:
    """A command in a terminal, as if the login host were here."""
    way = SimpleNamespace(argv=lambda words: words)

    def far(_: RunPlace, token: str = "") -> list[str]:
        return ["sh", "-c", script, "sh", token]

    start: Any = SimpleNamespace(
        cluster=cluster,
        login=login,
        found=CARRIER,
        wanted=Wanted(command=command, terminal=True),
        environment=os.environ,
        way=lambda *_, **__: way,
        in_terminal=far,
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
    assert warned.message == (
        f"job 7 has ended: it was cancelled; {what} ended with it;"
        " `scratchflow status` shows when the last snapshot was taken, `scratchflow up` takes another node"
    )


@pytest.mark.parametrize(("script", "asked"), [("kill -KILL $$", 1), ("exit 9", 0)])
def test_what_ends_in_a_terminal_while_its_job_runs_is_not_explained(
    tmp_path: Path, script: str, asked: int
) -> None:
    cluster = ToldCluster(tmp_path, {"run carrier": CARRIER})
    assert in_terminal(script, cluster=cluster).code() in {137, 9}
    assert (cluster.told, len(cluster.asked)) == ([], asked)


LOST = {**ENDED, "run place": NodeFailed(node="n", reason="Slurm has given it up")}
LAPTOP = SimpleNamespace(terminal_code=lambda code: code)


@pytest.mark.parametrize("script", ["exit 0", "exit 255"])
@pytest.mark.parametrize("login", [None, LAPTOP])
@pytest.mark.parametrize(("command", "what"), [((), "the shell"), (("vi",), "the command")])
def test_a_terminal_that_ends_with_its_node_is_no_success(
    tmp_path: Path, script: str, login: Any, command: tuple[str, ...], what: str
) -> None:
    """`srun` exits with 0 when its node loses power, ssh with 255."""
    lost = in_terminal(script, cluster=ToldCluster(tmp_path, LOST), command=command, login=login)
    with pytest.raises(RunCut) as caught:
        lost.code()
    assert caught.value.exit_code == 14
    assert str(caught.value) == (
        f"the connection to `n` was lost while {what} ran: node `n` failed: Slurm has given it up"
    )
    assert "`scratchflow up`" in caught.value.shown_hint


def test_a_shell_of_whose_end_nothing_was_heard_is_no_success_while_slurm_knows_nothing(
    tmp_path: Path,
) -> None:
    cluster = ToldCluster(tmp_path, {"run carrier": CARRIER})
    with pytest.raises(RunCut) as caught:
        in_terminal("exit 0", cluster=cluster, login=LAPTOP).code()
    assert "it ended before the shell did" in str(caught.value)


@pytest.mark.parametrize("code", [0, 3, 255])
def test_a_shell_that_tells_its_end_has_its_own_code_and_nobody_is_asked(
    tmp_path: Path, code: int
) -> None:
    cluster = ToldCluster(tmp_path, LOST)
    script = f"printf '\\001%s %s\\n' $1 'started 0' $1 'ended {code}'; exit {code}"
    assert in_terminal(script, cluster=cluster, login=LAPTOP).code() == code
    assert (cluster.told, cluster.asked) == ([], [])


@pytest.mark.parametrize("code", [0, 255])
def test_a_shell_that_ends_on_the_login_host_while_its_job_runs_has_its_own_code(
    tmp_path: Path, code: int
) -> None:
    cluster = ToldCluster(tmp_path, {"run carrier": CARRIER})
    assert in_terminal(f"exit {code}", cluster=cluster).code() == code
    assert cluster.told == []
