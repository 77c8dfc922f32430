"""One question to the agent on a node that may go unanswered: whoever asks waits for a while, and no longer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from scratchflow.agent.client import call
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.config.settings import Settings
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.profile import to_plain
from scratchflow.process.child import Completed
from scratchflow.reach.job_scratch import scratch_of_job
from scratchflow.reach.node import NodeTransport, node_transport
from scratchflow.ssh.transport.base import Feed, Stream, Transport
from scratchflow.ssh.transport.child import ChildStream


class NodeQuestion:
    """An operation without arguments that changes nothing, asked of one node in a thread of its own from now on.

    Nothing is installed there for it, and no error is raised: without an `answer`, `reason` says why.
    """

    def __init__(
        self,
        do: str,
        settings: Settings,
        held: RunningAllocation,
        environment: Mapping[str, str],
    ) -> None:
        self.node = held.node
        self.answer: dict[str, object] | None = None
        self.reason = ""
        self._do, self._settings = do, settings
        self._held, self._environment = held, environment
        self._way: _Ended | None = None
        self._thread = threading.Thread(target=self._run, name=f"{do}-{held.node}", daemon=True)
        self._thread.start()

    def wait(self, until: float, within_s: float) -> None:
        """Returns when it has answered, or at that moment of the monotonic clock; then the question is given up."""
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive():
            self.reason = f"it took longer than {within_s:g} s"
            if self._way is not None:
                self._way.end()

    def _run(self) -> None:
        settings, held, environment = self._settings, self._held, self._environment
        try:
            scratch = scratch_of_job(
                settings, held, environment, this_slurm(environment), lambda _: None
            )
            if self.reason:  # nobody waits for it any more
                return
            plain = to_plain(settings.profile)
            request = asking(self._do, {}, profile_name=settings.name, profile=plain)
            request = msgspec.structs.replace(request, job_name=held.name, scratch=scratch)
            self._way = _Ended(node_transport(held, settings.name, environment))
            self.answer = call(self._way, request, lambda _: None, command=agent_command())
        except ScratchflowError as error:
            if self._way is None or not self._way.is_ended:
                self.reason = str(error)


def wait_for(asked: Iterable[NodeQuestion], within_s: float) -> None:
    """Returns when all of them have answered, or after this time in all."""
    until = time.monotonic() + within_s
    for one in asked:
        one.wait(until, within_s)


class _Ended(Transport):
    """The way to a node, of which another thread may end what runs."""

    def __init__(self, node: NodeTransport) -> None:
        self.host = node.host
        self.is_ended = False
        self._node = node
        self._stream: ChildStream | None = None

    def end(self) -> None:
        """Whoever waits for the answer meets its end."""
        self.is_ended = True
        if self._stream is not None:
            self._stream.give_up()

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        return self._node.run(argv, stdin=stdin, timeout_s=timeout_s)

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> Stream:
        self._stream = self._node.stream(argv, stdin=stdin, feed=feed, hold_stdin=hold_stdin)
        return self._stream

    def describe(self) -> str:
        return self._node.describe()
