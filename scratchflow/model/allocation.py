"""An allocation, and the nodes and partitions it may come from, as the cluster told them."""

from collections.abc import Iterable
from typing import Literal

import msgspec

AllocationState = Literal[
    "pending",  # asked for, not granted
    "configuring",  # granted; the node boots or runs its prolog
    "running",
    "suspended",
    "completing",  # over for us; the node is still being cleaned
    "ended",
    "unknown",  # a state this version has no word for: treat it neither as running nor as ended
]

EndCause = Literal[
    "cancelled",
    "timeout",
    "preempted",
    "node_fail",
    "oom",
    "completed",
    "failed",
    "boot_fail",
    "deadline",
    "forgotten",  # the scheduler answered, and no longer knows the job; nobody can tell why it ended
]

HELD: frozenset[AllocationState] = frozenset({"configuring", "running", "suspended"})
"""The states in which a node is ours."""

OPEN: frozenset[AllocationState] = HELD | {"pending", "unknown"}
"""The states in which the job must still be cancelled when nobody wants it any more."""


class Allocation(msgspec.Struct, frozen=True, kw_only=True):
    """The job that holds a node for us, at one moment. Times are seconds since 1970, UTC."""

    job_id: int | None
    """None without a scheduler: there the allocation is the tmux session."""
    name: str
    state: AllocationState
    cause: EndCause | None = None
    """Why it ended, or ends; None unless it does, or while nobody says."""
    reason: str = ""
    """Slurm's own word, like `Priority`; foreign text."""
    reason_text: str = ""
    """The same for people, like `other jobs come first`."""
    nodes: tuple[str, ...] = ()
    partition: str = ""
    start_time: int | None = None
    end_time: int | None = None
    """When the time limit ends it; None while it waits, or without a limit."""
    start_estimate: int | None = None
    """When Slurm thinks it will start; None once it has, or while Slurm does not know."""

    @property
    def node(self) -> str | None:
        """The node the workspace is on: the first of the allocation."""
        return self.nodes[0] if self.nodes else None

    def granted(self) -> "RunningAllocation | None":
        """The same with its job number and node known to be there; None while one is missing."""
        if self.job_id is None or not self.nodes:
            return None
        return RunningAllocation(**msgspec.structs.asdict(self))


class RunningAllocation(Allocation, frozen=True, kw_only=True):
    """A job that was given a node: it has a number, and one node at least."""

    job_id: int
    nodes: tuple[str, ...]

    @property
    def node(self) -> str:
        """The node the workspace is on: the first of the allocation."""
        return self.nodes[0]

    def on(self, node: str) -> "RunningAllocation":
        """The same job with this one of its nodes as *the* node."""
        return msgspec.structs.replace(self, nodes=(node,))

    def find(self, named: str) -> str | None:
        """The node of the job that a name or a number (`2`: the second) means; None for any other."""
        if named in self.nodes:
            return named
        number = int(named) if named.isascii() and named.isdigit() else 0
        return self.nodes[number - 1] if 0 < number <= len(self.nodes) else None


class ThisMachine(Allocation, frozen=True, kw_only=True):
    """Without a scheduler: this machine, named by its tmux session if there is one."""

    job_id: None = None
    state: AllocationState = "running"
    nodes: tuple[str, ...]

    @property
    def node(self) -> str:
        """This machine."""
        return self.nodes[0]


def with_node(allocations: Iterable[Allocation]) -> list[RunningAllocation]:
    """Those that hold a node, in the same order."""
    granted = (one.granted() for one in allocations if one.state in HELD)
    return [one for one in granted if one is not None]


class GpuCount(msgspec.Struct, frozen=True, kw_only=True):
    """GPUs of one type on a node; `free` is None when this Slurm does not tell."""

    type: str
    """As it is asked for; empty for GPUs that Slurm has no type for."""
    total: int
    free: int | None


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A compute node. Free is what a new job could get: 0 when the node takes none."""

    name: str
    partitions: tuple[str, ...]
    state: str
    """In words: `idle`, `partly used`, `drained`, `not responding` …"""
    available: bool
    """A job could start there now, if what is free is enough."""
    cpus: int
    cpus_free: int
    memory_bytes: int
    memory_free_bytes: int | None
    """None, here and for GPUs, when this Slurm does not tell how much is in use."""
    gpus: int
    gpus_free: int | None
    gpu_type: str = ""
    gpus_by_type: tuple[GpuCount, ...] = ()
    features: tuple[str, ...] = ()
    reason: str = ""
    """Why the staff took it out of service; foreign text."""


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition and its limits; None is no limit."""

    name: str
    default: bool
    up: bool
    max_time_s: int | None
    default_time_s: int | None
    nodes: tuple[str, ...]
    max_cpus: int | None = None
    max_memory_bytes: int | None = None
    """Of one node, both."""


WARN_AT_S = (60 * 60, 15 * 60, 5 * 60)
"""How long before the end of the allocation people are told."""
ENDING = "allocation.ending"
"""The code of that warning."""
