"""Whoever waits for a node that cannot answer any more is told so; whoever is only slow is left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

import msgspec
import pytest

from scratchflow.model.allocation import Allocation, RunningAllocation
from scratchflow.model.errors.allocation import NodeSilent
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Hello
from scratchflow.process.child import Completed
from scratchflow.reach import watch
from scratchflow.reach.node import NodeTransport
from scratchflow.reach.node_watch import NodeWatch
from scratchflow.ssh.transport.child import ChildStream

HELD = RunningAllocation(job_id=7, name="scratchflow:aws:x", state="running", nodes=("node-1",))
ENDED = msgspec.structs.replace(HELD, state="ended")
SUSPENDED = msgspec.structs.replace(HELD, state="suspended")
SLOW = "import time; print('one', flush=True); time.sleep({}); print('two', flush=True)"
FOR_EVER = 600


class ThisMachine(NodeTransport):
    """A node that is this machine; `probed` counts how often somebody was looked after."""

    def __init__(self) -> None:
        super().__init__(HELD, os.environ)
        self.probed = 0
        self.fails = False
        self.says: Completed | None = None  # instead of what is so

    def carried(self, command: Sequence[str]) -> list[str | bytes]:
        return list(command)

    def describe(self) -> str:
        return "this machine"

    def not_started(self, error: OSError) -> ScratchflowError:
        raise AssertionError(error)

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        self.probed += 1
        if self.fails:
            raise NodeSilent(node="node-1", job_id=7, reason="no route to host")
        return self.says or super().run(argv, stdin=stdin, timeout_s=timeout_s)


def heard(
    node: NodeTransport,
    silence_s: float,
    *,
    agent: int | None,
    ask: Callable[[], Allocation] = lambda: HELD,
    silent_s: float = 0.05,
) -> tuple[list[bytes], str | None]:
    """What came of a command that is silent for so long after its first word."""
    watched = NodeWatch(node, ask, silent_s=silent_s, probe_s=10)
    stream = watched.stream([sys.executable, "-c", SLOW.format(silence_s)])
    lines = []
    try:
        for line in stream:
            lines.append(line)
            if agent is not None:
                watched.meet(Hello(version="1", pid=agent, host=os.uname().nodename, role="node"))
    finally:
        stream.close()
    return lines, watched.given_up


@pytest.fixture
def dead() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen(["true"]) as process:
        return process.pid


def test_an_agent_that_is_gone_is_not_waited_for(dead: int) -> None:
    began_s = time.monotonic()
    lines, given_up = heard(ThisMachine(), FOR_EVER, agent=dead)
    assert (lines, given_up) == ([b"one"], "what was started there is gone")
    assert time.monotonic() - began_s < FOR_EVER / 2


@pytest.mark.slow
def test_last_words_that_are_on_their_way_are_heard(dead: int) -> None:
    node = ThisMachine()
    assert heard(node, 1.4, agent=dead, silent_s=1.0) == ([b"one", b"two"], None)
    assert node.probed == 1


@pytest.mark.slow
def test_an_agent_that_is_only_slow_is_left_alone() -> None:
    node = ThisMachine()
    assert heard(node, 1.0, agent=os.getpid()) == ([b"one", b"two"], None)
    assert node.probed > 1


def test_a_job_that_has_ended_is_not_waited_for() -> None:
    node = ThisMachine()
    result = heard(node, FOR_EVER, agent=os.getpid(), ask=lambda: ENDED)
    assert result == ([b"one"], "its job has ended")
    assert node.probed == 0


def test_a_node_that_nobody_reaches_is_given_up_after_several_tries() -> None:
    node = ThisMachine()
    node.fails = True
    assert heard(node, FOR_EVER, agent=os.getpid()) == ([b"one"], "nobody there answers")
    # On a busy machine the first silence may come before the agent is known, and counts too.
    assert 1 < node.probed <= watch.ENOUGH


@pytest.mark.slow
def test_before_its_first_word_an_agent_gets_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    node = ThisMachine()
    assert heard(node, 0.4, agent=None) == ([b"one", b"two"], None)
    monkeypatch.setattr(watch, "ENOUGH_AT_FIRST", 3)
    assert heard(node, FOR_EVER, agent=None) == ([b"one"], "nobody there answers")


@pytest.mark.slow
def test_what_runs_on_the_node_does_not_need_slurm() -> None:
    def unreachable() -> Allocation:
        raise SlurmUnreachable(host="login", reason="slurmctld does not answer")

    node = ThisMachine()
    assert heard(node, 1.0, agent=os.getpid(), ask=unreachable) == ([b"one", b"two"], None)


@pytest.mark.slow
def test_a_job_that_stands_still_is_waited_for(dead: int) -> None:
    node = ThisMachine()
    assert heard(node, 0.5, agent=dead, ask=lambda: SUSPENDED) == ([b"one", b"two"], None)
    assert node.probed == 0


def test_words_that_are_not_the_nodes_own_mean_nothing(dead: int) -> None:
    node = ThisMachine()
    node.says = Completed(1, b"", b"srun: error: Unable to create step for job 7")
    assert heard(node, 0.12, agent=dead) == ([b"one", b"two"], None)
    assert node.probed


def test_a_command_that_nobody_can_watch_is_not_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[ChildStream] = []

    class NoThreads:
        def __init__(self, stream: ChildStream, _watch: object, **_: object) -> None:
            started.append(stream)
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(watch, "WatchedStream", NoThreads)
    with pytest.raises(RuntimeError):
        heard(ThisMachine(), FOR_EVER, agent=None)
    assert started[0]._process.poll() is not None


def test_no_thread_stays() -> None:
    heard(ThisMachine(), 0.2, agent=os.getpid())
    assert not any(thread.name == "node-watch" for thread in threading.enumerate())


def test_an_agent_that_was_stopped_is_given_up() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        sleeper.send_signal(signal.SIGSTOP)
        os.waitpid(sleeper.pid, os.WUNTRACED)
        lines, given_up = heard(ThisMachine(), FOR_EVER, agent=sleeper.pid)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert (lines, "was stopped" in (given_up or "")) == ([b"one"], True)
