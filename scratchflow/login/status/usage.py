"""What is in use on the nodes, as `status --usage` shows it: who is asked, how often, and when there is too little room."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from scratchflow.cluster.this_host import node_name
from scratchflow.config.settings import Settings
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation, RunningAllocation
from scratchflow.model.results.status import Problem
from scratchflow.model.results.usage import NEARLY_FULL, DiskUse, NodeUsage, UsageRead
from scratchflow.model.units import format_size

LOOK_S = 8.0
"""How long all nodes may take; of one that has not answered by then nothing is known."""
AGAIN_AFTER_S = 60.0
NEARLY_FULL_PERCENT = 90
ROOM_ENOUGH_BYTES = 200 * 1024**3
"""With this much free, a scratch is not nearly full, however large it is."""


class UsageLooks:
    """For one who looks again and again: the nodes are asked once a minute at most."""

    def __init__(self) -> None:
        self._of: tuple[str, ...] = ()
        self._seen: list[NodeUsage] = []
        self._at_s = float("-inf")

    def look(self, login: LoginHost, held: Allocation | None) -> list[NodeUsage]:
        """Of every node of the running job; of this machine where there is no scheduler."""
        if login.profile.scheduler == "none":
            of: tuple[str, ...] = (node_name(login.environment),)
        elif held is not None and held.state == "running":
            of = (str(held.job_id), *held.nodes)
        else:
            return []
        if of != self._of or time.monotonic() - self._at_s >= AGAIN_AFTER_S:
            self._seen = [with_warning(one) for one in _asked(login, held)]
            self._of, self._at_s = of, time.monotonic()
        return self._seen


def _asked(login: LoginHost, held: Allocation | None) -> list[NodeUsage]:
    if login.profile.scheduler == "none":
        return [_of_this_machine(login)]
    running = held.granted() if held else None
    return usage_of(login.settings, running, login.environment) if running else []


def _of_this_machine(login: LoginHost) -> NodeUsage:
    from scratchflow.cluster.command import local_run
    from scratchflow.node.usage.usage import read_usage

    environment = login.environment
    scratch = login.workspace_of(None).scratch
    read = read_usage(scratch, None, environment, local_run(environment))
    return _shown(node_name(environment), read)


def usage_of(
    settings: Settings,
    held: RunningAllocation,
    environment: Mapping[str, str],
    *,
    within_s: float = LOOK_S,
) -> list[NodeUsage]:
    """Each node of the job, all of them asked at once; one that does not answer is shown as unknown."""
    from scratchflow.reach.node_question import NodeQuestion, wait_for

    asked = [NodeQuestion("usage", settings, held.on(node), environment) for node in held.nodes]
    wait_for(asked, within_s)
    return [
        NodeUsage(node=one.node, unknown=one.reason)
        if one.answer is None
        else _shown(one.node, msgspec.convert(one.answer, UsageRead))
        for one in asked
    ]


def _shown(node: str, read: UsageRead) -> NodeUsage:
    return NodeUsage(node=node, **msgspec.structs.asdict(read))


def with_warning(usage: NodeUsage) -> NodeUsage:
    """The same with what is wrong with it, if anything is."""
    disk = usage.scratch
    if disk is None:
        return usage
    warning = ""
    if disk.percent >= NEARLY_FULL_PERCENT and disk.free_bytes < ROOM_ENOUGH_BYTES:
        warning = _full_words(disk, usage.node)
    elif disk.files_percent is not None and disk.files_percent >= NEARLY_FULL_PERCENT:
        warning = f"the file system of `{disk.path}` on `{usage.node}` has {disk.files_percent} % of its inodes in use"
    return msgspec.structs.replace(usage, warning=warning)


def _full_words(disk: DiskUse, node: str) -> str:
    free, total = format_size(disk.free_bytes), format_size(disk.total_bytes)
    return f"`{disk.path}` on `{node}` is {disk.percent} % full: {free} of {total} are free"


def scratch_nearly_full(usages: Sequence[NodeUsage]) -> Iterator[Problem]:
    """Scratch that has little room left: what is written next may fail, and a restore as well."""
    for usage in usages:
        if usage.warning:
            yield Problem(
                name=NEARLY_FULL,
                detail=usage.warning,
                fix="`scratchflow run -- du -xh --max-depth=2 .` shows what takes the room: delete what is no longer"
                " needed; `scratchflow hop` moves to another node",
            )
