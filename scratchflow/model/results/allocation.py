"""The nodes, and the job that holds one: `nodes`, `allocate`, `clear`, `hop`."""

import msgspec

from scratchflow.model.allocation import Node
from scratchflow.model.results.base import Result
from scratchflow.model.results.status import ElsewhereShown, SubmittedOpen


class NodeRow(Node, frozen=True):
    """A node, and the snapshot that its scratch still equals, if any."""

    warm: str | None


class GpuTypeShown(msgspec.Struct, frozen=True, kw_only=True):
    """One type of GPU on the nodes that a request could get: how many there are, and how many are free now."""

    type: str
    """As `--gpus TYPE:N` takes it; empty for GPUs that Slurm has no type for."""
    total: int
    free: int
    most_on_a_node: int
    most_free_on_a_node: int
    is_exact: bool = True
    """False when Slurm does not tell of every node how many are free: there may be more."""


class PartitionShown(msgspec.Struct, frozen=True, kw_only=True):
    """A partition, how long a job in it may take, and the most that one of its nodes gives to a job.

    None is no limit of time; of the others, that no node of it is known.
    """

    name: str
    max_time_s: int | None = None
    most_cpus: int | None = None
    most_memory_bytes: int | None = None
    gpu_types: list[GpuTypeShown] = []
    """The GPUs of its nodes, by type."""


class NodesShown(Result, frozen=True):
    """`nodes`; `partition` is the one that the profile asks for, or Slurm's default."""

    nodes: list[NodeRow]
    partition: str | None = None
    partitions: list[PartitionShown] = []
    """Those that take jobs; none when Slurm does not tell."""
    held: list[str] = []
    """The nodes that the profile holds now."""
    gpu_types: list[GpuTypeShown] = []
    """The GPUs of the nodes in `partition`, or of all nodes when that is not known, by type."""
    asks: str = ""
    """What the profile asks of Slurm, as options of `salloc`."""
    last: str = ""
    """The same of the last allocation from this machine, for `--last`; empty when none is known."""


class OtherNode(msgspec.Struct, frozen=True, kw_only=True):
    """A further node of the allocation, and its host keys."""

    node: str
    host_keys: list[str] = []


class NodeHeld(Result, frozen=True):
    """`hold`: the node that the login host holds for us, and what the laptop needs to get there."""

    job_id: int | None
    node: str
    partition: str
    end_time: str | None
    reused: bool
    warm: str | None
    user: str
    host_keys: list[str]
    session: str | None
    command: str = ""
    instead: str = ""
    """With `dry_run`, while a request waits: what would be run if that one were withdrawn."""
    dry_run: bool = False
    others: list[OtherNode] = []
    """The further nodes of the same job."""
    newest: str = ""
    """The newest snapshot, when `warm` is an older one."""


class Allocated(Result, frozen=True):
    """`allocate`: the node that is ours, and the alias that leads to it.

    `warm` is the snapshot that its scratch equals, if any.
    """

    job_id: int | None
    node: str
    partition: str
    end_time: str | None
    alias: str | None
    reused: bool
    warm: str | None
    command: str = ""
    instead: str = ""
    """With `dry_run`, while a request waits: what would be run if that one were withdrawn."""
    dry_run: bool = False
    nodes: list[str] = []
    """All nodes of the job; `node` is the first, the alias with `-2` leads to the second."""
    newest: str = ""
    """The newest snapshot, when `warm` is an older one."""


class NodeReleased(Result, frozen=True):
    """`release`: what the login host gave back."""

    job_ids: list[int]
    session_ended: bool
    commands: list[str] = []
    dry_run: bool = False


class Cleared(Result, frozen=True):
    """`clear`: what was given back, after which last snapshot."""

    job_id: int | None
    snapshot: str | None
    released: bool
    read_back_age_s: int | None = None
    """How long ago all that `snapshot` needs was read back from the store and found whole."""
    newer: str | None = None
    """The newest snapshot, when what was on the node is another copy, which `snapshot` holds."""
    others: dict[str, str] = {}
    """Other workspaces of ours on the node, by name, with the snapshot that holds each."""
    other_stores: dict[str, str] = {}
    """Of those, which are in another store than the profile's, and in which."""
    old_others: list[str] = []
    """Of those, older copies that an earlier job left, without anything that was in no snapshot."""
    forked_others: list[str] = []
    """Of those, older copies with changes, which are saved as forks."""
    other_profiles: dict[str, str] = {}
    """Of those, which are another profile's, and of which one."""
    still_used: list[str] = []
    """Of those, the ones that their profile still works in on that node."""
    forks: dict[str, str] = {}
    """What only one of the other nodes had: the snapshot that holds it, by node."""
    job_ids: list[int] = []
    withdrawn: list[int] = []
    """Of those jobs, the ones that only waited in the queue and had no node."""
    session_ended: bool = False
    parked: bool = False
    commands: list[str] = []
    dry_run: bool = False
    # With `--leave-behind`: what went with the node; the first few paths, and how many.
    unsaved: int = 0
    unsaved_paths: list[str] = []
    unsaved_beside: int = 0
    """How many of them were on further nodes, whose copies `snapshot` does not hold."""
    # Scratch is removed with the job: the snapshots are the only copy.
    goes_with_job: bool = False
    pending: bool = False
    """Only requests that waited for a node were withdrawn; a node that is held stays."""
    elsewhere: list[ElsewhereShown] = []
    """What other profiles hold or wait for on the same cluster, which stays."""
    submitted: list[SubmittedOpen] = []
    """Submitted jobs of every profile that wait or run, which go on."""


class Hopped(Result, frozen=True):
    """`hop`: from which node to which, and with which snapshot.

    `left_behind` holds what was changed on the old node while everything moved.
    """

    from_node: str
    from_job_id: int
    node: str
    job_id: int | None
    end_time: str | None
    snapshot: str | None
    left_behind: str | None = None
    fork: str | None = None
    """Changes that were on a node beside the work that moved: they are in this snapshot."""
    forks: dict[str, str] = {}
    """What only one of the old job's other nodes had: the snapshot that holds it, by node."""
    commands: list[str] = []
    dry_run: bool = False
    # With `--leave-behind`: what went with the old node; the first few paths, and how many.
    unsaved: int = 0
    unsaved_paths: list[str] = []
    others: dict[str, str] = {}
    """Other workspaces of the profile that moved along, by name, with the snapshot that each is at."""
    servers: list[str] = []
    """What `serve` had started there, and now runs on the new node."""


class HoppedTo(Result, frozen=True):
    """`hop --to PROFILE`: from one cluster to another, and with which snapshot.

    `left_behind` holds what was changed here while everything moved; it is in both stores.
    """

    source: str
    to: str
    from_node: str | None
    from_job_id: int | None
    node: str | None
    job_id: int | None
    end_time: str | None
    alias: str | None
    snapshot: str | None
    sent_bytes: int = 0
    left_behind: str | None = None
    commands: list[str] = []
    dry_run: bool = False
