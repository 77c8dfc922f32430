"""What each verb hands back when it worked: the `data` of its `summary` line."""

from typing import Any, Literal

import msgspec

from scratchflow.model.allocation import AllocationState, Node
from scratchflow.model.job import GitState
from scratchflow.model.requests import ArchiveOf, ServerKind, WholeSnapshot
from scratchflow.model.snapshot import Manifest, SnapshotKind


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all results."""

    def exit_code(self) -> int:
        """What the process exits with when no warning says otherwise."""
        return 0

    def after(self, passed_s: float) -> "Result":  # noqa: ARG002 - most results do not age
        """The same that many seconds later, for what is kept in sight."""
        return self


class NodeFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong on a further node of the allocation, as an error of that code."""

    node: str
    code: str
    message: str
    hint: str = ""
    exit_code: int = 1


class OnNodes(Result, frozen=True, kw_only=True):
    """Base of what is done on every node of an allocation: which have it now, and what failed on the others.

    `nodes` is empty when there is but one.
    """

    nodes: list[str] = []
    failed: list[NodeFailure] = []
    forks: dict[str, str] = {}
    """What only a further node had, by node: the snapshot that it was saved in before it was replaced."""

    def exit_code(self) -> int:
        """That of the first failure."""
        return self.failed[0].exit_code if self.failed else 0


class ProfileFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong with one profile while all of them were asked, as an error of that code."""

    profile: str
    login: str
    code: str
    message: str
    hint: str = ""
    exit_code: int = 1


class OnProfiles(Result, frozen=True, kw_only=True):
    """Base of what is asked of the clusters of all profiles at once: which of them gave no answer, and why."""

    failed: list[ProfileFailure] = []

    def exit_code(self) -> int:
        """That of the first failure: what was seen of the others is there all the same."""
        return self.failed[0].exit_code if self.failed else 0


class VersionShown(Result, frozen=True):
    """`--version`."""

    version: str


class HelpShown(Result, frozen=True):
    """`--help` under `--json`: the text that a person would have seen."""

    help: str


class ConfigShown(Result, frozen=True):
    """`config show`: the profile in force, and with `--origin` where each value came from."""

    path: str
    profile: str
    profiles: list[str]
    values: dict[str, Any]
    origins: dict[str, str] | None = None


class ConfigPath(Result, frozen=True):
    """`config path`."""

    path: str
    exists: bool


class ConfigChanged(Result, frozen=True):
    """`config set`: what changed, or with `--dry-run` what would."""

    path: str
    key: str
    changed: bool
    dry_run: bool
    diff: str
    takes_effect: str = ""
    """When it does, for what already runs; empty when that is at once."""


class ConfigValue(Result, frozen=True):
    """`config get`: one value in force; null when the key is not set."""

    key: str
    value: Any
    origin: str


class ImportedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the other program's file, and what became of it."""

    key: str
    value: str
    """In a few words; `***` where it may be a secret."""
    taken: bool
    settings: dict[str, Any] = {}
    """The keys of the profile that it became, with their values."""
    reason: str = ""
    """Why it was not taken, or a remark."""


class ImportedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context of the other program's file, and the profile that it became."""

    name: str
    profile: str | None
    """None when it became none: `reason` says why."""
    state: Literal["new", "there_already", "not_ours"]
    keys: list[ImportedKey]
    own: dict[str, str] = {}
    """Names that the profile got because another one has the usual ones."""
    reason: str = ""


class ConfigImported(Result, frozen=True):
    """`config import`: every context and key of the file, and what changed or would."""

    source: str
    path: str
    contexts: list[ImportedContext]
    keys: list[ImportedKey]
    """Those outside of contexts."""
    changed: bool
    dry_run: bool
    diff: str


class ProfileRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `profiles list`."""

    name: str
    is_used: bool
    """The one that commands without `--profile` use."""
    login: str
    scheduler: str
    alias: str
    workspace: str
    store: str
    built_in: bool = False
    partition: str = ""
    time: str = ""
    node: str | None = None
    """Where the ssh alias leads, as this machine knows it; the cluster is not asked."""


class ProfilesListed(Result, frozen=True):
    """`profiles list`."""

    profiles: list[ProfileRow]


class ProfileWritten(Result, frozen=True):
    """`profiles use`, `add` and `copy`: what changed in the file."""

    profile: str
    path: str
    changed: bool
    diff: str
    dry_run: bool = False


class ProfileRemoved(Result, frozen=True):
    """`profiles remove`, and what it leaves: each with where it is or how to remove it."""

    profile: str
    path: str
    diff: str
    stays: list[str]
    default_profile: str
    """The one that commands use from now on; empty when that is not said."""
    alias: str | None = None
    """The ssh alias that goes with it; None when there is none, or another profile uses it."""
    dry_run: bool = False


class CopyShown(msgspec.Struct, frozen=True, kw_only=True):
    """The copy of the workspace on a further node of the allocation.

    `changed` counts the files that were changed there since `base`; null when it was not looked at, with the reason.
    """

    node: str
    exists: bool = True
    base: str | None = None
    changed: int | None = None
    other_snapshot: bool = False
    """It came from another snapshot than the first node's copy."""
    fork: bool = False
    """It differs from the first node's copy, and `base` is the fork that holds what it had of its own."""
    reason: str = ""
    unsaved: int = 0
    """Paths there that cannot be read, so that no snapshot holds them."""
    unsaved_paths: list[str] = []


class CopyState(Result, frozen=True):
    """`copy`: what a node's copy of the workspace came from, and how many files were changed there since."""

    exists: bool = True
    base: str | None = None
    changed: int | None = None
    unsaved: int = 0
    unsaved_paths: list[str] = []


class BackupTaken(Result, frozen=True):
    """`backup`: the snapshot that holds the workspace now; `unchanged` names the one before."""

    snapshot: str | None
    kind: Literal["full", "incremental", "unchanged"]
    parent: str | None
    files: int
    bytes: int
    changed_files: int
    changed_bytes: int
    stored_bytes: int
    duration_s: float
    dry_run: bool = False
    # Paths that could not be read, so that no snapshot holds them; the first few, and how many.
    unsaved: int = 0
    unsaved_paths: list[str] = []
    moved_files: int = 0
    """Files that were copied, renamed or put back: nothing of them had to be stored, and `changed_files` lacks them."""
    # Files of the parent that are gone; `shrunk` when that is most of them and nobody was asked.
    removed_files: int = 0
    shrunk: bool = False
    # It is a fork, and does not become the newest: another copy is the present work.
    beside: bool = False
    # Old snapshots that the rules no longer keep, removed after this one was committed.
    pruned: list[str] = []
    # The copies on the further nodes of the allocation, which this snapshot does not hold.
    copies: list[CopyShown] = []


class WorkspaceCreated(Result, frozen=True):
    """`create`: the workspace and its first snapshot."""

    path: str
    snapshot: str | None
    env: str | None = None
    activate: str = ""
    """What a shell on the node runs to use the environment."""
    dry_run: bool = False
    host: str = ""
    # With `--from`: what it was filled with. `left_out` counts what the patterns, a CACHEDIR.TAG or `--tracked`
    # kept out, a directory as one; `left_out_paths` are the first of them.
    source: str | None = None
    files: int | None = None
    bytes: int | None = None
    left_out: int = 0
    left_out_paths: list[str] = []


class ReadyToReceive(Result, frozen=True):
    """`create ready`: where the files will go, under which id they are to be sent, and how much room there is."""

    path: str
    workspace: str
    snapshot: str
    host: str
    free_bytes: int | None = None


class Restored(OnNodes, frozen=True, kw_only=True):
    """`restore`: what the target equals now.

    `safety_snapshot` holds what was replaced or removed, except what is in `moved_aside`;

    `committed_as` is the newest snapshot by which an older one became the present again;
    `abandoned` is the snapshot whose unfinished restore was given up.
    `place` is where in `target` the files are, after `--to`: the path that holds all of them.
    """

    snapshot: str
    mode: Literal["full", "delta", "nothing"]
    target: str
    files: int
    bytes: int
    written_files: int
    written_bytes: int
    duration_s: float
    removed: int = 0
    safety_snapshot: str | None = None
    committed_as: str | None = None
    moved_aside: list[str] = []
    abandoned: str | None = None
    dry_run: bool = False
    # The machine that `target` is on.
    host: str = ""
    place: str = ""


class SnapshotRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `snapshots list`."""

    id: str
    time: str
    kind: SnapshotKind
    parent: str | None
    node: str
    files: int
    bytes: int
    stored_bytes: int
    verified: bool
    message: str
    damaged: str | None
    fork: bool = False
    """Work that went another way than the newest snapshot, or is `beside`."""
    beside: bool = False
    """A copy that was not the newest work when it was taken, like that of another node of the job: it is never `latest`."""
    stays: list[str] = []
    """Why it stays though no plain rule keeps it: `kept`, `named`, `safety`, `fork`, `full` and others."""


class SnapshotsListed(Result, frozen=True):
    """`snapshots list`, oldest first. `now` is the time by the same clocks: ages are counted up to it."""

    snapshots: list[SnapshotRow]
    now: str | None = None


class SnapshotsOfProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshots of one profile, as `snapshots list` has them."""

    profile: str
    login: str
    snapshots: list[SnapshotRow]
    now: str | None = None


class SnapshotsOfAll(OnProfiles, frozen=True):
    """`snapshots list --all-profiles`."""

    profiles: list[SnapshotsOfProfile]


class PathEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A path inside a snapshot."""

    kind: Literal["file", "directory", "link"]
    mode: str
    size: int
    mtime: str
    path: str | None = None
    path_b64: str | None = None
    target: str | None = None


class SnapshotShown(Result, frozen=True):
    """`snapshots show`: the manifest, and with a path the content of a directory in it."""

    manifest: Manifest
    damaged: str | None
    entries: list[PathEntry]


class PathChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A path that differs between two snapshots, or a snapshot and the workspace."""

    action: Literal["added", "removed", "changed"]
    path: str | None = None
    path_b64: str | None = None


# Stands where `snapshots diff` has an id, for the workspace as it is now.
WORKSPACE = "workspace"


class SnapshotsDiffed(Result, frozen=True):
    """`snapshots diff`; `newer` is an id, or the word `workspace`."""

    older: str
    newer: str
    added: int
    removed: int
    changed: int
    paths: list[PathChange]
    roots: list[str] = []
    """The workspace, and what is saved with it: each path begins with one of them."""


class BadSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that would not restore, and why."""

    id: str
    reason: str


class SnapshotsVerified(Result, frozen=True):
    """`snapshots verify`."""

    checked: int
    bad: list[BadSnapshot]

    def exit_code(self) -> int:
        """31 as soon as one is damaged, though the check itself worked."""
        return 31 if self.bad else 0


# Why the others stay when snapshots are removed by id.
NOT_ASKED_FOR = "not asked for"


class SnapshotsPruned(Result, frozen=True):
    """`snapshots prune`."""

    kept: dict[str, list[str]]
    removed: list[str]
    freed_bytes: int
    blocked: str | None
    dry_run: bool
    spare: str | None = None
    """When the rules keep everything: the snapshot that frees the most when it is pruned by id.

    Never one that is named, marked, a safety snapshot or the tip of a fork."""
    spare_bytes: int = 0
    """What removing `spare` would free."""


class SnapshotsMarked(Result, frozen=True):
    """`snapshots keep` and `unkeep`: those that were asked for, and those for which it is news."""

    snapshots: list[str]
    changed: list[str]
    kept: bool
    dry_run: bool = False


class SnapshotSent(Result, frozen=True):
    """`snapshots send`: what went out; `size_bytes` and `sha256` are those of the archive.

    `place` is where it will be beneath the directory that it is taken to.
    """

    snapshot: str
    files: int
    bytes: int
    written_files: int
    written_bytes: int
    size_bytes: int = 0
    sha256: str = ""
    place: str = ""


class SnapshotsOffered(Result, frozen=True):
    """`snapshots offer`: whole snapshots, oldest first. `damaged` ones cannot be copied."""

    snapshots: list[WholeSnapshot]
    damaged: list[str] = []
    store_id: str | None = None


class ArchiveLacking(msgspec.Struct, frozen=True):
    """An archive that is to be sent, and how much of it arrived earlier; `is_whole` when that was compared and is all."""

    archive: ArchiveOf
    arrived_bytes: int = 0
    is_whole: bool = False


class SnapshotLacking(msgspec.Struct, frozen=True):
    """A snapshot that a store lacks, and which archives of it.

    `in_one`: an archive of one of those names is there and is another one, so the snapshot has to come as one full
    archive. `blocked`: that is so of its own name, so it cannot come at all.
    """

    id: str
    archives: list[ArchiveLacking]
    in_one: bool = False
    blocked: bool = False


class SnapshotsLacking(Result, frozen=True):
    """`snapshots lacking`: oldest first; `newest` is the store's newest snapshot of all."""

    snapshots: list[SnapshotLacking]
    newest: str | None
    store_id: str | None = None


class ArchiveGiven(Result, frozen=True):
    """`snapshots give`: what went out; the SHA-256 is that of the whole archive."""

    size_bytes: int
    sha256: str


class ArchiveTaken(Result, frozen=True):
    """`snapshots take`: the archive arrived whole, and was read back."""

    size_bytes: int
    sha256: str


class SnapshotAdopted(Result, frozen=True):
    """`snapshots adopt`: whether it was new; `newest` is the store's newest snapshot now."""

    snapshot: str
    is_new: bool
    newest: str | None


class SnapshotsCopied(Result, frozen=True):
    """`snapshots copy`: from one profile's store into another's."""

    source: str
    to: str
    copied: list[str]
    already_there: list[str]
    sent_bytes: int
    duration_s: float
    # The newest snapshot of the other store now.
    newest: str | None = None
    damaged: list[str] = []
    # The other store holds a part of them for other snapshots, under the same name.
    blocked: list[str] = []
    dry_run: bool = False


class NewerFound(Result, frozen=True):
    """`snapshots newer`: what the workspace has newer than a snapshot, of some paths."""

    snapshot: str
    host: str
    changed: int = 0
    changed_paths: list[str] = []
    """The first of them."""
    added: int = 0
    """How many files are in the workspace and not in the snapshot; excluded ones do not count."""
    added_paths: list[str] = []
    """The first of them."""
    unsaved: list[str] = []
    """Paths, as they were asked for, that are in the workspace and not in the snapshot."""


class SnapshotExported(Result, frozen=True):
    """`snapshots export`: one plain full `.tar.lz4`."""

    snapshot: str
    path: str
    bytes: int
    dry_run: bool = False
    # The machine that `path` is on.
    host: str = ""


class SnapshotImported(Result, frozen=True):
    """`snapshots import`: a foreign `.tar.lz4` as a snapshot."""

    snapshot: str | None
    source: str
    files: int
    bytes: int
    dry_run: bool = False
    previous: str | None = None
    """The snapshot that was `latest` before: the imported one takes its place. Null if there was none."""


class NodeRow(Node, frozen=True):
    """A node, and the snapshot that its scratch still equals, if any."""

    warm: str | None


class NodesShown(Result, frozen=True):
    """`nodes`; `partition` is the one that the profile asks for, or Slurm's default."""

    nodes: list[NodeRow]
    partition: str | None = None
    held: list[str] = []
    """The nodes that the profile holds now."""


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
    dry_run: bool = False
    others: list[OtherNode] = []
    """The further nodes of the same job."""


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
    dry_run: bool = False
    nodes: list[str] = []
    """All nodes of the job; `node` is the first, the alias with `-2` leads to the second."""


class NodeReleased(Result, frozen=True):
    """`release`: what the login host gave back."""

    job_ids: list[int]
    session_ended: bool
    commands: list[str] = []
    dry_run: bool = False


class NodeSaved(Result, frozen=True):
    """`save node`: the last snapshots of a node, and what is in none."""

    snapshot: str | None
    stored: bool = False
    """Whether `snapshot` was taken just now: something was there that no snapshot had."""
    others: dict[str, str] = {}
    """Other workspaces of ours on that node, by name, with the snapshot that holds each."""
    read_back_age_s: int | None = None
    """How long ago all that `snapshot` needs was read back from the store and found whole."""
    newer: str | None = None
    """The newest snapshot, when what was on the node is an older copy, which `snapshot` holds."""
    # Paths that no snapshot holds; the first few, and how many.
    unsaved: int = 0
    unsaved_paths: list[str] = []
    excluded: list[str] = []
    """Patterns by which files of the workspace are in no snapshot because that is wanted."""
    other_files: list[str] = []
    """What else of the user's lies on the same scratch; `backup.also` would save it."""
    # Scratch is removed with the job: the snapshots are the only copy.
    goes_with_job: bool = False


class Cleared(Result, frozen=True):
    """`clear`: what was given back, after which last snapshot."""

    job_id: int | None
    snapshot: str | None
    released: bool
    read_back_age_s: int | None = None
    """How long ago all that `snapshot` needs was read back from the store and found whole."""
    newer: str | None = None
    """The newest snapshot, when what was on the node is an older copy, which `snapshot` holds."""
    others: dict[str, str] = {}
    """Other workspaces of ours on the node, by name, with the snapshot that holds each."""
    forks: dict[str, str] = {}
    """What only one of the other nodes had: the snapshot that holds it, by node."""
    job_ids: list[int] = []
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


class AllocationShown(msgspec.Struct, frozen=True, kw_only=True):
    """The allocation in `status`."""

    state: AllocationState
    job_id: int | None
    node: str | None
    partition: str
    end_time: str | None
    seconds_left: int | None
    start_time: str | None = None
    reason: str = ""
    start_estimate: str | None = None
    nodes: list[str] = []
    """All nodes of the job; `node` is the first."""


class AliasShown(msgspec.Struct, frozen=True, kw_only=True):
    """Where the alias leads."""

    name: str
    target: str | None
    parked: bool
    others: list[str] = []
    """Where the aliases `NAME-2`, `NAME-3` … lead."""
    exists: bool = True
    """False before the first `up` of a profile, and after `setup --remove`: ssh does not know the name."""


class WorkspaceShown(msgspec.Struct, frozen=True, kw_only=True):
    """The workspace; `exists` is null while nobody on its node can be asked.

    From another machine it is what the auto-backup saw last, or else the record of the last backup
    or restore; `seen_time` says when that was. One that goes with its job is removed when that
    ends: then the snapshots are all that is left. Without a job, its path is as the profile has it.
    """

    path: str
    exists: bool | None
    base_snapshot: str | None
    seen_time: str | None = None
    goes_with_job: bool = False


class RecentSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the last day, for a timeline."""

    id: str
    time: str
    kind: SnapshotKind
    stored_bytes: int


class SnapshotsShown(msgspec.Struct, frozen=True, kw_only=True):
    """The store in short; `recent` are those of the last day, oldest first."""

    count: int
    last_id: str | None = None
    last_message: str = ""
    last_time: str | None = None
    last_age_s: int | None = None
    recent: list[RecentSnapshot] = []
    oldest_check_s: int | None = None
    """How long ago the snapshot was read back that waits longest; null when one never was."""


ON_FAILED_NODE = "workspace.on_failed_node"
"""The problem of work that is on the disk of a node that failed, and in no snapshot."""
FEWER_NODES = "allocation.fewer_nodes"
"""The problem of a job that has fewer nodes than the profile asks for."""


class AutobackupShown(msgspec.Struct, frozen=True, kw_only=True):
    """The auto-backup, as its last sign of life tells."""

    enabled: bool
    every_s: float
    next_time: str | None = None
    last_time: str | None = None
    last_error: str | None = None
    overdue: bool = False
    priority: str = ""
    alive: bool | None = None
    """Whether it gives signs of life; null when the clocks of two machines differ too much to tell."""
    other_settings: bool = False
    """It was started with other settings than the profile has now."""
    # Of the last backup: how many warnings, and which paths it could not read (the first few).
    warnings: int = 0
    unsaved: int = 0
    unsaved_paths: list[str] = []
    of_workspace: str = ""
    """The workspace whose auto-backup saves this one too; empty when it is this one's own."""
    others: list[str] = []
    """The further nodes of the allocation on which one runs too."""
    missing_on: list[str] = []
    """The further nodes of the allocation on which none runs, or gives no sign of life."""
    failed_on: dict[str, str] = {}
    """The further nodes whose last automatic backup failed, with the reason."""


class OtherShown(msgspec.Struct, frozen=True, kw_only=True):
    """Another workspace of ours on the same node, as the auto-backup tells."""

    name: str
    path: str
    snapshot: str | None
    saved_time: str | None = None
    """When the auto-backup last saved it, or found it unchanged; null before its first look at it."""
    last_error: str | None = None
    own_autobackup: bool = False
    """An auto-backup of its own saves it."""


class SessionShown(msgspec.Struct, frozen=True, kw_only=True):
    """Our tmux session, and on which login host."""

    name: str | None
    host: str | None
    alive: bool | None
    """Null when it is on another login host, which was not asked."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Two things that do not fit together, and the one line that mends it."""

    name: str
    detail: str
    fix: str


class ElsewhereShown(msgspec.Struct, frozen=True, kw_only=True):
    """A node that another profile of this cluster holds, or waits for."""

    profile: str
    job_id: int | None
    state: AllocationState
    node: str | None = None
    end_time: str | None = None


class ServerShown(msgspec.Struct, frozen=True, kw_only=True):
    """A program that listens on the node for this user alone."""

    name: str
    kind: ServerKind
    node: str
    job_id: int | None = None
    socket: str = ""
    port: int = 0
    log: str = ""
    ended: str = ""
    """How it ended; empty while it runs."""
    url: str = ""
    """Where this machine has it; with its token in `serve list` alone. Empty without a tunnel."""
    problem: str = ""
    """Why the tunnel leads nowhere at the moment."""


class TunnelShown(msgspec.Struct, frozen=True, kw_only=True):
    """A local port of this machine that leads to the node."""

    name: str
    local_port: int
    to: str
    """The server's name, or the port or socket on the node."""
    problem: str = ""
    """Why it leads nowhere at the moment."""


class StatusShown(Result, frozen=True):
    """`status`: everything at one glance."""

    profile: str
    allocation: AllocationShown | None
    alias: AliasShown | None
    workspace: WorkspaceShown
    snapshots: SnapshotsShown
    autobackup: AutobackupShown
    session: SessionShown
    problems: list[Problem] = []
    scheduler: Literal["slurm", "none"] = "slurm"
    next_step: str = ""
    """What makes sense to do next, in a sentence; empty when it is in the `fix` of a problem."""
    others: list[OtherShown] = []
    """Other workspaces of ours on the same node."""
    elsewhere: list[ElsewhereShown] = []
    """What other profiles hold on the same cluster: nodes that are easily forgotten."""
    store: str = ""
    """The directory with the snapshots and HOW-TO-RESTORE.txt, on the login host; empty when it cannot be read."""
    copies: list[CopyShown] = []
    """The workspace on the further nodes of the allocation."""
    servers: list[ServerShown] = []
    """What `serve` has started on the node."""
    tunnels: list[TunnelShown] = []
    """Local ports of this machine that lead elsewhere on the node."""

    def after(self, passed_s: float) -> "StatusShown":
        """The same picture that many seconds later, as far as nobody has to be asked for it."""
        held, snapshots, passed = self.allocation, self.snapshots, int(passed_s)
        if held is not None and held.seconds_left is not None:
            left_s = max(0, held.seconds_left - passed)
            held = msgspec.structs.replace(held, seconds_left=left_s)
        if snapshots.last_age_s is not None:
            age_s = snapshots.last_age_s + passed
            snapshots = msgspec.structs.replace(snapshots, last_age_s=age_s)
        return msgspec.structs.replace(self, allocation=held, snapshots=snapshots)


class StatusOfAll(OnProfiles, frozen=True):
    """`status --all`: the pictures of all profiles, in the order of the file."""

    profiles: list[StatusShown]


class ServerStarted(Result, frozen=True):
    """`server start`: the server, which may have run already."""

    server: ServerShown
    page: str = "/"
    token: str = ""
    changed: bool = True
    dry_run: bool = False


class ServersSeen(Result, frozen=True):
    """`server list`: what the login host knows; `pages` and `tokens` by name, for addresses."""

    servers: list[ServerShown] = []
    pages: dict[str, str] = {}
    tokens: dict[str, str] = {}


class ServersStopped(Result, frozen=True):
    """`serve stop`: what was ended, servers and tunnels of this machine."""

    stopped: list[str] = []
    tunnels: list[str] = []
    dry_run: bool = False


class ServerEnded(Result, frozen=True):
    """`server run`: how the program on the node came to its end."""

    reason: str


class ServersListed(Result, frozen=True):
    """`serve list`: servers on the node, with their addresses on this machine, and its other tunnels."""

    servers: list[ServerShown] = []
    tunnels: list[TunnelShown] = []


class Serving(Result, frozen=True):
    """`serve`: where the server can be opened."""

    server: ServerShown
    url: str = ""
    """With its token; empty without a tunnel."""
    changed: bool = True
    opened: bool = False
    """In the browser."""
    copied: bool = False
    """To the clipboard."""
    dry_run: bool = False


class TunnelOpened(Result, frozen=True):
    """`tunnel`: the local port."""

    tunnel: TunnelShown
    url: str = ""
    """With the server's token."""
    node: str = ""
    changed: bool = True
    opened: bool = False
    """In the browser."""
    copied: bool = False
    """To the clipboard."""
    dry_run: bool = False


class AutobackupSwitched(Result, frozen=True):
    """`autobackup on|off`: whether it runs now, and whether that is news."""

    enabled: bool
    changed: bool
    node: str | None
    every_s: float
    next_time: str | None = None
    dry_run: bool = False
    others: list[str] = []
    """The further nodes of the allocation that it runs on now, or ran on."""


class AutobackupStatus(Result, frozen=True):
    """`autobackup status`."""

    node: str | None
    autobackup: AutobackupShown
    log: str | None = None


class AutobackupEnded(Result, frozen=True):
    """`autobackup run`: how the loop on the node came to its end."""

    reason: str
    backups: int


class Settled(OnNodes, frozen=True, kw_only=True):
    """`settle`: what had to be done so that the workspace is there."""

    action: Literal["created", "restored", "nothing"]
    path: str
    snapshot: str | None
    restored: Restored | None = None
    newer: str | None = None
    """The newest snapshot, when what was left in place does not continue it."""


class MadeReady(Result, frozen=True):
    """`make ready`: what `status` shows; and of a node that is held, what was done about the workspace and the auto-backup.

    Both are None when there is no such node yet, or when the alias does not lead there.
    """

    seen: StatusShown
    workspace: Settled | None = None
    autobackup: AutobackupSwitched | None = None


class EditorOpened(Result, frozen=True):
    """`open`: how the workspace is opened in the editor, and whether that was done."""

    path: str
    command: list[str]
    link: str
    opened: bool


class UpAndRunning(Result, frozen=True):
    """`up`: everything that is needed to work; `changed` when something had to be done for it."""

    job_id: int | None
    node: str | None
    end_time: str | None
    alias: str | None
    workspace: Settled | None
    autobackup: AutobackupSwitched | None
    editor: EditorOpened
    changed: bool
    reused: bool = False
    """The node was held already."""
    command: str = ""
    set_up_first: str = ""
    """In a dry run: the login host that would be set up before."""
    dry_run: bool = False
    nodes: list[str] = []
    """All nodes of the job; `node` is the first."""
    problems: list[Problem] = []
    """What `status` finds wrong, and `up` did not mend."""

    def exit_code(self) -> int:
        """That of what failed on a further node."""
        return self.workspace.exit_code() if self.workspace else 0


class DetachedRun(msgspec.Struct, frozen=True):
    """A command that `run --detach` left running: the window of our session, and the job."""

    window: str
    job_id: int


class JobsShown(Result, frozen=True):
    """`jobs open`: the allocations of a profile, oldest first, waiting ones too; two while moving."""

    jobs: list[AllocationShown]
    detached: list[DetachedRun] = []
    """What `run --detach` has left running, when that was asked for."""


class ScratchLocated(Result, frozen=True):
    """`locate`: where the job has its scratch."""

    path: str


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


class EnvironmentReady(Result, frozen=True):
    """`environment`: the file on the node that a shell reads to have the profile's environment; empty without layers."""

    file: str


class SessionReady(Result, frozen=True):
    """`session`: our tmux session on a login host, and what a terminal there runs to show it."""

    session: str
    host: str
    is_here: bool
    argv: list[str]
    user: str = ""


class Attached(Result, frozen=True):
    """`attach`: the command that shows the session; it was run when there was a terminal."""

    session: str
    host: str
    command: list[str]
    ran: bool = False


class OtherCarrier(msgspec.Struct, frozen=True, kw_only=True):
    """What the login host runs before a command's words to run it on a further node."""

    node: str
    argv: list[str]


class RunCarrier(Result, frozen=True, kw_only=True):
    """`run carrier`: what the login host runs before a command's words to run it on the node.

    With `quotes` the words go into one argument, for the login shell of the node. `current` is a file on the cluster
    that holds the number of the job that is worked in; empty when there is none.
    """

    job_id: int | None
    node: str
    argv: list[str]
    terminal_argv: list[str]
    quotes: bool = False
    shell: list[str] = []
    current: str = ""
    others: list[OtherCarrier] = []
    """The same for the further nodes of the job."""


class RunPlace(Result, frozen=True):
    """`run place`: the workspace on the node, and the file that sets the profile's environment there."""

    directory: str
    sourced: str = ""
    others: dict[str, "RunPlace"] = {}
    """The same on the further nodes, when all were asked."""
    failed: list[NodeFailure] = []


class RunWindow(Result, frozen=True):
    """`run detached`: the window of our tmux session in which the command runs."""

    session: str
    window: str
    host: str


class RunEnded(Result, frozen=True, kw_only=True):
    """`run` and `shell`: how the command ended; with `--detach`, in which window it runs."""

    node: str
    job_id: int | None
    code: int = 0
    window: RunWindow | None = None
    codes: dict[str, int] = {}
    """With `--all`: how it ended on each node."""

    def exit_code(self) -> int:
        """The command's own."""
        return self.code


class Frozen(Result, frozen=True):
    """`freeze`: the snapshot that holds the workspace as it is now, and its git commit."""

    snapshot: str | None
    changed_files: int
    changed_bytes: int
    duration_s: float
    git: GitState | None = None


class Submitted(Result, frozen=True):
    """`submit`: the job that Slurm has now, or with `--dry-run` what would be asked."""

    job: str
    number: int | None
    name: str
    tasks: int
    snapshot: str
    # The workspace as it was just now; otherwise the newest snapshot, because no node is held.
    is_current: bool = False
    directory: str = ""
    """Where the record, the logs and what is collected are."""
    command: list[str] = []
    """The `sbatch` that asks."""
    more: list[int] = []
    """The numbers of further arrays, when there are more tasks than the cluster allows in one."""
    dry_run: bool = False


class JobRan(Result, frozen=True):
    """`job run`: how the command of a submitted job ended."""

    job: str
    task: int
    code: int
    collected_files: int

    def exit_code(self) -> int:
        """The command's own: Slurm makes the job's state of it."""
        return self.code


class FurtherEnded(Result, frozen=True):
    """`job further`: what was saved of a further node of a submitted job."""

    node: str
    collected_files: int = 0
    collected_bytes: int = 0
    not_collected: list[str] = []


class DebugReady(Result, frozen=True):
    """`jobs debug`: where a task can be tried again, and its command there."""

    job: str
    task: int
    directory: str
    command: str
    """As bash reads it."""
    script: str
    """Runs the command there, with the task's environment."""
    bashrc: str
    """For `bash --rcfile`: the same in a shell."""
    is_new: bool = True
    """Not when it was there from before, with whatever was changed in it."""
    host: str = ""
    code: int | None = None
    """How the shell ended, if there was one."""

    def exit_code(self) -> int:
        """The shell's own."""
        return self.code or 0


class TaskShown(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a submitted job, as its record and Slurm tell it together."""

    task: int
    job_id: int | None
    state: str
    """In Slurm's words; besides `SUBMITTING`, `NOT_SUBMITTED` and `FORGOTTEN`."""
    why: str = ""
    """The same for people, with a next step, when it did not end well."""
    node: str = ""
    start: str | None = None
    end: str | None = None
    code: int | None = None
    restarts: int = 0
    """How often Slurm had put it back into the queue when it last started."""
    parameters: dict[str, Any] = {}
    collected_files: int = 0
    collected_bytes: int = 0
    collected_paths: list[str] = []
    not_collected: list[str] = []
    peak_memory_bytes: int | None = None
    cpu_s: float | None = None
    cancelled_by: str = ""
    last_output: str | None = None
    """When it last printed something, as this host sees it."""
    got: dict[str, str] = {}
    continued: int = 0
    """How often it was put back into the queue before its time limit, to go on."""


class JobShown(msgspec.Struct, frozen=True, kw_only=True):
    """One submitted job."""

    job: str
    number: int | None
    name: str
    state: str
    """Of all tasks: `RUNNING` while one runs, else the worst end."""
    time: str
    command: list[str]
    snapshot: str
    directory: str
    profile: str
    script: str = ""
    cwd: str = ""
    tags: list[str] = []
    collect: list[str] = []
    git: GitState | None = None
    slurm: dict[str, Any] = {}
    sbatch: list[str] = []
    continues: int = 0
    """How often each task may go on in another run."""
    signal: str = ""
    """What the command gets before the time limit, like `USR1@120`."""
    rerun_of: str = ""
    tasks: list[TaskShown] = []


class JobsListed(Result, frozen=True):
    """`jobs`: what is queued, running and done, oldest first."""

    jobs: list[JobShown]
    left_out: int = 0
    """Ended ones that `--all` would show."""
    damaged: list[str] = []
    """The ids of jobs whose record cannot be read; a warning names each."""


class JobInspected(Result, frozen=True):
    """`jobs show`."""

    job: JobShown
    task: int | None = None


class OutputShown(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was collected: its path beneath the directory that it is taken to."""

    path: str
    bytes: int
    task: int


class OutputsPut(Result, frozen=True, kw_only=True):
    """`job outputs`: what was written, and how many files were there already."""

    target: str
    host: str
    written_files: int = 0
    written_bytes: int = 0
    same_files: int = 0
    dry_run: bool = False


class OutputsShown(Result, frozen=True, kw_only=True):
    """`jobs outputs`: what was collected from a job, and with `--to` where it was put."""

    job: str
    number: int | None
    directory: str
    """Where they lie in the store; `host` sees it."""
    host: str
    place: str
    """The job's own directory beneath the one that `--to` names."""
    outputs: list[OutputShown]
    """The first 1000 of them."""
    files: int
    bytes: int
    tasks: list[int]
    """The tasks that were asked for, or all."""
    is_array: bool = False
    sha256: str = ""
    """Of what was sent."""
    put: OutputsPut | None = None


class JobsCancelled(Result, frozen=True):
    """`cancel`: which jobs or tasks were ended, as `12` or `12_3`, and what they are called."""

    cancelled: list[str]
    names: list[str]
    dry_run: bool = False


class JobPruned(msgspec.Struct, frozen=True, kw_only=True):
    """A job whose record was removed, or would be."""

    job: str
    number: int | None
    name: str
    time: str
    output_files: int = 0
    output_bytes: int = 0
    """What it had made, which goes with it."""
    bytes: int = 0
    """Of everything in its directory."""


class JobKept(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is old enough and stays all the same."""

    job: str
    number: int | None
    name: str
    why: str
    next_step: str = ""


class JobsPruned(Result, frozen=True):
    """`jobs prune`: which records were removed, and which stay although they are old."""

    removed: list[JobPruned]
    kept: list[JobKept] = []
    unneeded_snapshots: list[str] = []
    """Those that only the removed jobs ran from: the rules of `snapshots prune` decide about them again."""
    dry_run: bool = False
    older_than: str = ""
    """What counts as old, when no jobs were named: `backup.keep_jobs`."""


class JobDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two jobs: a name, and its value in each."""

    what: str
    first: Any
    second: Any


class JobsCompared(Result, frozen=True):
    """`jobs diff`."""

    first: str
    second: str
    differences: list[JobDifference]


class LogsShown(Result, frozen=True):
    """`logs`: what a task printed, and how it ended if it has."""

    job: str
    task: int
    state: str
    code: int | None = None
    followed: bool = False
    output: str = ""
    """With `--json`; otherwise it went to stdout as it was."""
    error: str = ""

    def exit_code(self) -> int:
        """With `-f`, the task's own; 1 when it did not end well and has none."""
        if not self.followed:
            return 0
        return self.code or int(self.state != "COMPLETED")


class LogRead(Result, frozen=True):
    """`job tail`: read on the node; whether the task has ended by now."""

    ended: bool


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; `fix` is the one line that mends it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


class ChecksDone(Result, frozen=True):
    """What an agent found out about its host. `mended` is what `doctor --fix` did before."""

    checks: list[Check]
    mended: list[str] = []


class PartitionSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A partition as `setup` proposes it; None is no limit."""

    name: str
    is_default: bool
    max_time_s: int | None
    # Of its largest node; 0 when nobody can tell.
    most_cpus: int = 0
    most_gpus: int = 0


class PlaceSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that could be the store or the scratch, as a profile would write it."""

    path: str
    free_bytes: int
    file_system: str
    # Whether other hosts see it too: True for a network file system, None when nobody can tell.
    is_shared: bool | None
    # What the user's quota leaves there; None when there is none, or nobody can tell.
    quota_left_bytes: int | None = None

    @property
    def room_bytes(self) -> int:
        """What can still be written: the smaller one of free space and quota."""
        quota = self.quota_left_bytes
        return self.free_bytes if quota is None else min(self.free_bytes, quota)


class Surveyed(Result, frozen=True):
    """`survey`: what `setup` proposes a profile from."""

    user: str
    home: str
    cluster: str
    partitions: list[PartitionSeen]
    stores: list[PlaceSeen]
    scratches: list[PlaceSeen]
    # Slurm's own word for the nodes' temporary directory; empty when it does not answer.
    node_tmp: str = ""
    # What the node of a job of the user's, which runs now, has for a scratch; the best first.
    job_id: int | None = None
    in_job: list[PlaceSeen] = []
    # The script that sets `$SLURM_TMPDIR` in every job, if Slurm names one and it can be read.
    tmpdir_prolog: str = ""
    slurm_problem: str = ""
    has_slurm: bool = True
    # The host's own name, and which of the marks that were asked about it has.
    host: str = ""
    variables: list[str] = []
    directories: list[str] = []
    # Of the places that were asked about: those in a directory of the user's own.
    site_stores: list[PlaceSeen] = []
    # What Slurm says to a job without an account; empty when it takes one. And the accounts that there are.
    account_refusal: str = ""
    accounts: list[str] = []


class SetupValue(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the profile, and why it is this one."""

    key: str
    value: str
    reason: str


class ClusterSetUp(Result, frozen=True):
    """`setup`: what was written where, and whether it works."""

    profile: str
    login: str
    reached_by: str
    agent: str
    python: str
    config_diff: str
    ssh_config_diff: str
    checks: list[Check]
    values: list[SetupValue] = []
    # What it has in common with other profiles, in words.
    shared: list[str] = []
    is_default: bool = True
    default_profile: str = ""
    # What `up` did after it, if that was wanted.
    up: UpAndRunning | None = None
    # In a dry run: what `up` would ask Slurm for.
    command: str = ""
    dry_run: bool = False
    # Whose facts were used for the proposal; empty for a site that nobody knows.
    site: str = ""


class StorageOfSite(msgspec.Struct, frozen=True, kw_only=True):
    """What persists where, and who says so; `backed_up` is empty when that is not known."""

    place: str
    lasts: str
    backed_up: str
    source: str


class SiteShown(msgspec.Struct, frozen=True, kw_only=True):
    """What `setup` knows of a site before it looks."""

    name: str
    title: str
    summary: str
    known_by: list[str]
    values: list[SetupValue]
    # Places for the store, the best first.
    stores: list[str]
    # Why a job needs an account there; empty when it needs none.
    account: str
    storage: list[StorageOfSite]
    remarks: list[str]


class SitesListed(Result, frozen=True):
    """`setup --list-sites`."""

    sites: list[SiteShown]


class LeftBehind(msgspec.Struct, frozen=True, kw_only=True):
    """Something that `setup --remove` leaves, and how to remove it."""

    what: str
    how: str


class SetupRemoved(Result, frozen=True):
    """`setup --remove`."""

    ssh_config_diff: str
    agent_removed: bool
    # What stays because another profile uses it, in words.
    kept: list[str] = []
    # What was removed, or in a dry run would be, in words.
    removes: list[str] = []
    left: list[LeftBehind] = []
    dry_run: bool = False


# The schema lists these by verb; a verb without an entry here has no machine-readable result.
class SyncSide(Result, frozen=True):
    """`sync look`: one home, and the unison of its login host."""

    host: str
    home: str
    home_id: str
    program: str
    version: str
    never: list[str] = []
    """Paths beneath the home that no sync touches: scratch, and the snapshots."""


class FilesCounted(Result, frozen=True):
    """`sync count`: files that would go, and files in all."""

    going: int
    total: int


class PathProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A path that was left as it is, and why."""

    path: str
    reason: str


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A path that would change, and how: `deleted, to aws`."""

    path: str
    action: str


class SyncedPair(msgspec.Struct, frozen=True, kw_only=True):
    """What happened between the first profile's home and that of another."""

    profile: str
    version: str = ""
    """Of its unison."""
    to_first: int = 0
    """Changes that went to the first profile's home; a new directory is one."""
    to_profile: int = 0
    deleted: int = 0
    """How many of these were deletions."""
    conflicts: list[str] = []
    skipped: list[PathProblem] = []
    failed: list[PathProblem] = []
    plan: list[PlannedChange] = []
    """With `--dry-run`: what would happen."""


class Synced(Result, frozen=True):
    """`sync`: the star around the first profile."""

    first: str
    folders: list[str]
    pairs: list[SyncedPair]
    dry_run: bool = False
    test: bool = False

    def exit_code(self) -> int:
        """41 with conflicts, 100 when something could not be synced."""
        if any(pair.conflicts for pair in self.pairs):
            return 41
        return 100 if any(pair.failed for pair in self.pairs) else 0


RESULTS_BY_OP: dict[str, type[Result]] = {
    "version": VersionShown,
    "help": HelpShown,
    "setup": ClusterSetUp,
    "setup remove": SetupRemoved,
    "setup sites": SitesListed,
    "survey": Surveyed,
    "nodes": NodesShown,
    "allocate": Allocated,
    "hold": NodeHeld,
    "clear": Cleared,
    "release": NodeReleased,
    "status": StatusShown,
    "status all": StatusOfAll,
    "look": StatusShown,
    "watch": StatusShown,
    "attach": Attached,
    "session": SessionReady,
    "environment": EnvironmentReady,
    "run": RunEnded,
    "shell": RunEnded,
    "run carrier": RunCarrier,
    "copy": CopyState,
    "run place": RunPlace,
    "run detached": RunWindow,
    "serve": Serving,
    "serve list": ServersListed,
    "serve stop": ServersStopped,
    "server start": ServerStarted,
    "server list": ServersSeen,
    "server stop": ServersStopped,
    "server run": ServerEnded,
    "tunnel": TunnelOpened,
    "sync": Synced,
    "sync look": SyncSide,
    "sync count": FilesCounted,
    "submit": Submitted,
    "freeze": Frozen,
    "job run": JobRan,
    "job tail": LogRead,
    "job further": FurtherEnded,
    "job debug": DebugReady,
    "jobs debug": DebugReady,
    "jobs": JobsListed,
    "jobs show": JobInspected,
    "jobs rerun": Submitted,
    "jobs diff": JobsCompared,
    "jobs prune": JobsPruned,
    "jobs code": Restored,
    "jobs outputs": OutputsShown,
    "job outputs": OutputsPut,
    "cancel": JobsCancelled,
    "logs": LogsShown,
    "up": UpAndRunning,
    "hop --to": HoppedTo,
    "hop": Hopped,
    "open": EditorOpened,
    "settle": Settled,
    "make ready": MadeReady,
    "jobs open": JobsShown,
    "locate": ScratchLocated,
    "autobackup on": AutobackupSwitched,
    "autobackup off": AutobackupSwitched,
    "autobackup status": AutobackupStatus,
    "autobackup run": AutobackupEnded,
    "check node": ChecksDone,
    "doctor": ChecksDone,
    "check": ChecksDone,
    "config show": ConfigShown,
    "config path": ConfigPath,
    "config set": ConfigChanged,
    "config unset": ConfigChanged,
    "config get": ConfigValue,
    "config import": ConfigImported,
    "profiles list": ProfilesListed,
    "profiles use": ProfileWritten,
    "profiles add": ProfileWritten,
    "profiles copy": ProfileWritten,
    "profiles remove": ProfileRemoved,
    "create": WorkspaceCreated,
    "create ready": ReadyToReceive,
    "backup": BackupTaken,
    "save node": NodeSaved,
    "restore": Restored,
    "snapshots list": SnapshotsListed,
    "snapshots list all": SnapshotsOfAll,
    "snapshots show": SnapshotShown,
    "snapshots diff": SnapshotsDiffed,
    "snapshots diff workspace": SnapshotsDiffed,
    "snapshots verify": SnapshotsVerified,
    "snapshots prune": SnapshotsPruned,
    "snapshots keep": SnapshotsMarked,
    "snapshots unkeep": SnapshotsMarked,
    "snapshots export": SnapshotExported,
    "snapshots send": SnapshotSent,
    "snapshots offer": SnapshotsOffered,
    "snapshots lacking": SnapshotsLacking,
    "snapshots give": ArchiveGiven,
    "snapshots take": ArchiveTaken,
    "snapshots adopt": SnapshotAdopted,
    "snapshots copy": SnapshotsCopied,
    "snapshots newer": NewerFound,
    "snapshots import": SnapshotImported,
}
