"""An allocation, and the nodes and partitions it may come from, as the cluster told them."""

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
    slurm_state: str = ""
    cause: EndCause | None = None
    """Why it ended; None unless it did."""
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
