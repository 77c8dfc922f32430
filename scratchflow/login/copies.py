"""The copies of the workspace on the further nodes of an allocation: looked at all at once, within a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

import msgspec

from scratchflow.agent.client import call
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.config.settings import Settings
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.profile import to_plain
from scratchflow.model.results.backup import CopyShown, CopyState
from scratchflow.process.child import Completed
from scratchflow.reach.job_scratch import scratch_of_job
from scratchflow.reach.node import NodeTransport, node_transport
from scratchflow.ssh.transport.base import Feed, Stream, Transport
from scratchflow.ssh.transport.child import ChildStream
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.workspace import expand

LOOK_S = 8.0
"""How long all of them may take; a copy that is not through by then was not looked at."""
_TOO_LONG = f"it took longer than {LOOK_S:g} s"


def look_at_copies(
    settings: Settings,
    held: RunningAllocation,
    environment: Mapping[str, str],
    *,
    within_s: float = LOOK_S,
) -> list[CopyShown]:
    """The copy of every node but the first, compared with the snapshot that it came from."""
    looks = [_Look(settings, held.on(node), environment) for node in held.nodes[1:]]
    until = time.monotonic() + within_s
    for one in looks:
        one.wait(until)
    place = find_place(expand(settings.profile.store, environment), settings.profile.workspace)
    records = {record.node: record.snapshot for record in read_nodes(place)}
    catalogue, first = read_catalogue(place), records.get(held.node)
    return [_shown(one, first, catalogue) for one in looks]


def _shown(look: _Look, first: str | None, catalogue: Catalogue) -> CopyShown:
    seen = look.seen
    if seen is None:
        return CopyShown(node=look.node, reason=look.reason)
    is_behind = seen.exists and _origin(catalogue, seen.base) != _origin(catalogue, first)
    return CopyShown(
        node=look.node,
        exists=seen.exists,
        base=seen.base,
        changed=seen.changed,
        other_snapshot=is_behind,
        fork=any(one.beside for one in catalogue.snapshots if one.id == seen.base),
        unsaved=seen.unsaved,
        unsaved_paths=seen.unsaved_paths,
    )


def _origin(catalogue: Catalogue, snapshot: str | None) -> str | None:
    """The snapshot whose content this one has: what a restore committed again holds the same."""
    known = {one.id: one for one in catalogue.snapshots}
    at = snapshot
    while at in known and known[at].purpose == "restored" and known[at].parent:
        at = known[at].parent
    return at


class _Look:
    """One node that is asked, in a thread of its own."""

    def __init__(
        self, settings: Settings, held: RunningAllocation, environment: Mapping[str, str]
    ) -> None:
        self.node = held.node
        self.seen: CopyState | None = None
        self.reason = _TOO_LONG
        self._settings, self._held, self._environment = settings, held, environment
        self._way: _Ended | None = None
        self._thread = threading.Thread(target=self._run, name=f"copy-{held.node}", daemon=True)
        self._thread.start()

    def wait(self, until: float) -> None:
        """Returns when it has answered, or at that moment; then nobody waits for it any more."""
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive() and self._way is not None:
            self._way.end()

    def _run(self) -> None:
        settings, held, environment = self._settings, self._held, self._environment
        try:
            scratch = scratch_of_job(
                settings, held, environment, this_slurm(environment), lambda _: None
            )
            plain = to_plain(settings.profile)
            request = asking("copy", {}, profile_name=settings.name, profile=plain)
            request = msgspec.structs.replace(request, job_name=held.name, scratch=scratch)
            self._way = _Ended(node_transport(held, settings.name, environment))
            data = call(self._way, request, lambda _: None, command=agent_command())
            self.seen = msgspec.convert(data, CopyState)
        except ScratchflowError as error:
            if self._way is None or not self._way.is_ended:
                self.reason = str(error)


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
