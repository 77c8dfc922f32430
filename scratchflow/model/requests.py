"""What can be asked of another scratchflow, as it travels: one class for each `do`.

The command line fills these in too, so a verb means the same wherever it is typed. Paths are those of
the machine that does it.
"""

from typing import Any, ClassVar, Literal

import msgspec

from scratchflow.model.job import GitState
from scratchflow.model.snapshot import Purpose


class StoreSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The store as the login host sees it: the node compares before it saves anything there."""

    id: str
    host: str
    path: str
    # A file in the workspace's directory of the store that grows while the request is answered.
    grows: str = ""


class Where(msgspec.Struct, frozen=True):
    """Which node something is done on: of this job or of the newest one, the first or that one of its nodes."""

    job_id: int | None = None
    # A name, a number (`2` is the second), or EVERY_NODE.
    node: str = ""


FIRST = Where()
EVERY_NODE = "*"


class KnownJob(msgspec.Struct, frozen=True):
    """What whoever asks knows of the job that something is done in: its name, and where it has its scratch."""

    name: str = ""
    scratch: str = ""


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what each `do` takes. An argument that is not known is refused, never passed over."""

    path_fields: ClassVar[tuple[str, ...]] = ()
    """The arguments that are paths: a relative one means nothing on another machine."""
    laptop_fields: ClassVar[tuple[str, ...]] = ()
    """Those of them that may be `laptop:PATH` on the command line."""
    named_fields: ClassVar[tuple[str, ...]] = ()
    """Those of them in which `$NAME` means what the node has it set to."""
    brought_by: ClassVar[dict[str, str]] = {}
    """Those of them that name a file to read, with the command that takes one which was copied there."""
    help_of: ClassVar[str] = ""
    """The command whose `--help` tells of them."""


class Nothing(Arguments, frozen=True):
    """For what takes no arguments."""


NOTHING = Nothing()


class Survey(Arguments, frozen=True):
    """`survey`: what to look for besides, by which a site is recognised; nobody is asked about the rest."""

    variables: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    # Places for a store, as a profile would write them; `*` stands for any one name.
    stores: tuple[str, ...] = ()


class Look(Arguments, frozen=True):
    """`check`; with `tells`, each result also as an event, as soon as it is there."""

    tells: bool = False


class OpenJobs(Arguments, frozen=True):
    """`jobs open`: of the profile, or of every profile of this account."""

    any_profile: bool = False
    # Also what `run --detach` has left running in them.
    detached: bool = False
    # Beside the profile's own, what other profiles hold, and submitted jobs.
    others_too: bool = False


class DryRun(Arguments, frozen=True):
    """For what can be tried without doing it."""

    dry_run: bool = False


# The zone of whoever named a snapshot, as `model/zone.py` has it: `yesterday` is a day there.
Offsets = tuple[tuple[int, int], ...]


class Naming(Arguments, frozen=True):
    """For what names snapshots as people do, and changes nothing."""

    zone: Offsets = ()


class NamingDryRun(DryRun, frozen=True):
    """For what names snapshots as people do, and can be tried without doing it."""

    zone: Offsets = ()


# A list for pip or conda, conda's `environment.yml`, or the `pyproject.toml` of a project.
RequirementsKind = Literal["list", "conda", "project"]


class Create(DryRun, frozen=True):
    """`create`; `requirements` is the content of such a file, `lock` that of the `uv.lock` of a project.

    The workspace is filled from `directory`, from `url` by git, or with an archive that follows the request
    and has the id `receives`; from one of them at most. `named` is what the user called it.
    """

    directory: str | None = None
    tracked: bool = False
    url: str = ""
    receives: str = ""
    named: str = ""
    env: Literal["none", "venv", "conda"] = "none"
    python: str = ""
    packages: tuple[str, ...] = ()
    requirements: str = ""
    requirements_kind: RequirementsKind = "list"
    lock: str = ""

    path_fields: ClassVar[tuple[str, ...]] = ("directory",)
    laptop_fields: ClassVar[tuple[str, ...]] = ("directory",)
    help_of: ClassVar[str] = "create"

    @property
    def brings(self) -> bool:
        """Whether it is filled from somewhere."""
        return self.directory is not None or bool(self.url or self.receives)


class Backup(DryRun, frozen=True):
    """`backup`."""

    full: bool = False
    allow_shrink: bool = False
    message: str = ""
    purpose: Purpose = "asked"


class SaveNode(DryRun, frozen=True):
    """`save node`: the last backup of a node, before it is given back; a dry run says what it would store."""

    message: str = ""
    # A further node of the allocation: what only it has becomes a fork, and never the newest snapshot.
    beside: bool = False
    # Commands go to another job's copy: what this one has is the newest work only if it continues that.
    left: bool = False


class Restore(NamingDryRun, frozen=True):
    """`restore`."""

    snapshot: str = "latest"
    paths: tuple[str, ...] = ()
    to: str | None = None
    source: str | None = None
    replace: bool = False
    # Moves aside also what another profile works in.
    force: bool = False
    abandon: bool = False
    # A further node of the allocation: neither what is saved first nor what is restored becomes the newest.
    beside: bool = False

    path_fields: ClassVar[tuple[str, ...]] = ("to", "source")
    laptop_fields: ClassVar[tuple[str, ...]] = ("to",)
    named_fields: ClassVar[tuple[str, ...]] = ("to",)
    brought_by: ClassVar[dict[str, str]] = {"source": "restore --from"}
    help_of: ClassVar[str] = "restore"


class Show(Naming, frozen=True):
    """`snapshots show`."""

    snapshot: str = "latest"
    path: str | None = None


class Cat(Naming, frozen=True, kw_only=True):
    """`snapshots cat`: the content of one file; refused when it is larger than `most_bytes`, unless that is 0."""

    path: str
    snapshot: str = "latest"
    most_bytes: int = 0


class History(Arguments, frozen=True, kw_only=True):
    """`snapshots history`."""

    path: str


class Diff(Naming, frozen=True, kw_only=True):
    """`snapshots diff`."""

    older: str
    newer: str = "latest"


class DiffWorkspace(Naming, frozen=True):
    """`snapshots diff` with the workspace as it is; None is the snapshot that it was saved as last."""

    older: str | None = None


class Verify(Naming, frozen=True):
    """`snapshots verify`; none named means all."""

    snapshots: tuple[str, ...] = ()


class Prune(NamingDryRun, frozen=True):
    """`snapshots prune`; none named means those that no rule keeps."""

    snapshots: tuple[str, ...] = ()


class Mark(NamingDryRun, frozen=True, kw_only=True):
    """`snapshots keep` and `unkeep`."""

    snapshots: tuple[str, ...]


class Send(NamingDryRun, frozen=True):
    """`snapshots send`: a snapshot, or the paths of it, as one archive, to whoever asks."""

    snapshot: str = "latest"
    paths: tuple[str, ...] = ()
    lists: bool = False
    """Of a dry run: sends what the index says of each path, so that a directory can be compared with it."""


class Offer(Naming, frozen=True, kw_only=True):
    """`snapshots offer`: which snapshots could be copied from here; all of them when none is named."""

    snapshots: tuple[str, ...] = ()


class ArchiveOf(msgspec.Struct, frozen=True):
    """An archive that a snapshot reads from. `digest` is in the manifest of its own snapshot: empty when that is gone.

    `own_digest` is in its footer, of everything before that. Of one that is written while it is sent, neither is known,
    nor the size: 0 then.
    """

    id: str
    bytes: int = 0
    digest: str = ""
    own_digest: str = ""
    # Only what other snapshots need is left of it.
    is_remnant: bool = False


class WholeSnapshot(msgspec.Struct, frozen=True):
    """A snapshot as it can be copied: the file that is its manifest, and every archive it reads from."""

    id: str
    workspace: str
    manifest: str
    archives: list[ArchiveOf]
    kept: bool = False


class Lacking(Arguments, frozen=True, kw_only=True):
    """`snapshots lacking`: what this store does not have of these snapshots."""

    snapshots: list[WholeSnapshot]


class GiveArchive(Arguments, frozen=True, kw_only=True):
    """`snapshots give`: an archive that `snapshot` reads from, byte for byte, from `offset` on."""

    snapshot: str
    archive: str
    offset: int = 0


class TakeArchive(Arguments, frozen=True, kw_only=True):
    """`snapshots take`: an archive of another store, which follows the request, from `offset` on.

    `needed_bytes`: how much is still to come for its snapshot, with this one. `beside`: the archives of the same snapshot
    that may have arrived before; without room for this one they are removed.
    """

    archive: ArchiveOf
    offset: int = 0
    needed_bytes: int = 0
    beside: tuple[str, ...] = ()


class Adopt(Arguments, frozen=True, kw_only=True):
    """`snapshots adopt`: the snapshot whose archives have all arrived becomes one of this store.

    `awaited` are the archives of all snapshots that the same copy brings: no leftovers, though they have no manifest yet.
    `parents` are those of all snapshots that the other store has or had. `serving` are archives of this store that are
    not those of the other one, because only a part is left of one of the two: what the snapshot reads from them is compared.
    """

    snapshot: WholeSnapshot
    awaited: tuple[str, ...] = ()
    serving: tuple[str, ...] = ()
    parents: dict[str, str] = {}


class FetchSnapshots(NamingDryRun, frozen=True, kw_only=True):
    """`snapshots import --from-mirror`: these come back from the mirror; with `every`, all of it."""

    snapshots: tuple[str, ...] = ()
    every: bool = False


class Newer(Naming, frozen=True, kw_only=True):
    """`snapshots newer`: what the workspace has newer than a snapshot, of some paths."""

    snapshot: str
    paths: tuple[str, ...]


class Export(NamingDryRun, frozen=True, kw_only=True):
    """`snapshots export`."""

    file: str
    snapshot: str = "latest"

    path_fields: ClassVar[tuple[str, ...]] = ("file",)
    laptop_fields: ClassVar[tuple[str, ...]] = ("file",)
    help_of: ClassVar[str] = "snapshots export"


class Import(DryRun, frozen=True, kw_only=True):
    """`snapshots import`."""

    file: str

    path_fields: ClassVar[tuple[str, ...]] = ("file",)
    brought_by: ClassVar[dict[str, str]] = {"file": "snapshots import"}
    help_of: ClassVar[str] = "snapshots import"


class Hold(DryRun, frozen=True):
    """`hold`: the part of `allocate` that the login host does."""

    node: str = ""
    warm: bool = True
    # None: without limit.
    wait_s: float | None = 600
    keep_waiting: bool = False
    # Only a node that is held already: none is asked for.
    only_held: bool = False
    # Another node than this job's, which is kept: the way to a new node before the old one is left.
    beside: int | None = None
    # What of the request was typed rather than read from the profile: `slurm.time` as `--time 5h`.
    typed: dict[str, str] = {}


class Settle(DryRun, frozen=True):
    """`settle`: the workspace is made to be there, by whatever is missing."""

    # At least this snapshot: what the node before has saved last.
    snapshot: str | None = None
    # A further node of the allocation: what is saved there first does not become the newest.
    beside: bool = False
    # With `dry_run`, for a snapshot that is yet to come from another store: the parents that are known there.
    parents: dict[str, str] = {}


class MakeReady(Arguments, frozen=True):
    """`make ready`: a look, and what may be missing on a node that is held already."""

    # The nodes that the alias of whoever asks leads to: another one than the job's has to be pointed first. None: it has no alias.
    alias: tuple[str, ...] | None = None
    verbose: bool = False


class Session(Arguments, frozen=True):
    """`session`; with `rebuild` on this login host, though it was put on another one."""

    rebuild: bool = False


class RunAt(Arguments, frozen=True):
    """`run place`: where a command is to start; the directory, taken from the workspace, has to be there.

    A shell starts also without the profile's environment, with a warning.
    """

    cwd: bytes = b""
    for_shell: bool = False


class CarrierOf(Arguments, frozen=True):
    """`run carrier`: of this job, or of the newest one. While moving there are two."""

    job_id: int | None = None
    # Output is passed on as it comes: Slurm waits for the end of a line otherwise.
    unbuffered: bool = False


class RunDetached(Arguments, frozen=True, kw_only=True):
    """`run detached`: the command, packed for the node's shell, in a window of our tmux session."""

    argv: tuple[str, ...]
    # What the window is called after.
    program: str = "run"


class Release(DryRun, frozen=True):
    """`release`: the part of `clear` that the login host does."""

    # Only these; None means all of the profile.
    job_ids: tuple[int, ...] | None = None
    end_session: bool = True
    # Only those that still wait for a node.
    pending: bool = False


class ShowStatus(Arguments, frozen=True):
    """`look`; with `usage`, the nodes are asked how much of them is in use."""

    usage: bool = False


PLAIN_STATUS = ShowStatus()


class Watch(Arguments, frozen=True):
    """`watch`: `look`, again and again; `usage` once a minute at most."""

    every_s: float = 5
    usage: bool = False


class SwitchOn(DryRun, frozen=True):
    """`autobackup on`: on all nodes of this job, or of the newest one. For a while there may be two."""

    job_id: int | None = None


class Autobackup(Arguments, frozen=True, kw_only=True):
    """`autobackup run`: the loop on the node. `token` tells one start from another."""

    token: str
    job_name: str = ""
    end_time: float | None = None
    # A further node of the allocation: what only it has becomes a fork, and never the newest snapshot.
    beside: bool = False


ServerKind = Literal["command", "tensorboard", "jupyter"]


class StartServer(DryRun, frozen=True):
    """`server start`: a program that listens on a socket of its own, as a step of the job."""

    kind: ServerKind = "command"
    # With `{socket}` or `{port}` in one of them; for TensorBoard, the directory with its logs.
    words: tuple[str, ...] = ()
    # Empty: named after the program.
    name: str = ""
    cwd: str = ""
    # The server of that name once more, on the node of this job and in place of the one before: what `hop` asks for.
    job_id: int | None = None


class RunServer(Arguments, frozen=True, kw_only=True):
    """`server run`: the program on the node. `start` tells one start from another."""

    name: str
    kind: ServerKind
    words: tuple[str, ...]
    cwd: str
    start: str
    # What a browser has to show to Jupyter. It travels on stdin: no list of processes has it.
    token: str = ""


class StopServers(DryRun, frozen=True):
    """`server stop`: these, or all of the profile."""

    names: tuple[str, ...] = ()
    every: bool = False


class SyncLook(Arguments, frozen=True):
    """`sync look`: the home, its unison, and whether these folders of it can be kept equal."""

    folders: tuple[str, ...]
    # Paths in the folders that alone are wanted.
    paths: tuple[str, ...] = ()
    # Empty: `unison`, as the PATH has it.
    program: str = ""
    leave_out: tuple[str, ...] = ()


class SyncCount(Arguments, frozen=True):
    """`sync count`: how many files go with these paths of the home, and how many the folders hold."""

    deleted: tuple[bytes, ...] = ()
    # A file or link takes the place of what is there: that counts when it is a directory.
    replaced: tuple[bytes, ...] = ()
    folders: tuple[str, ...] = ()
    # At which of these a file was written within the last `within_s` seconds.
    written: tuple[bytes, ...] = ()
    within_s: float = 0.0


class SyncNote(Arguments, frozen=True):
    """`sync note`: which paths of the home the next sync with this profile reads in full."""

    other: str
    paths: tuple[str, ...] = ()


class Freeze(DryRun, frozen=True):
    """`freeze`: the workspace as it is now, for a job; a dry run looks there for what the job needs of it."""

    # Paths beneath the workspace.
    script: str = ""
    directory: str = ""


class Submit(DryRun, frozen=True):
    """`submit`: a command, or a batch script in the workspace with its arguments, as a job of its own."""

    command: tuple[str, ...] = ()
    # A path beneath the workspace; `command` is then its arguments.
    script: str = ""
    directory: str = ""
    name: str = ""
    tags: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()
    sbatch: tuple[str, ...] = ()
    # The keys of `[slurm]` that were given on the command line: they win over a script's own lines.
    given: tuple[str, ...] = ()
    # The parameters of each task of an array; none for a plain job.
    tasks: tuple[dict[str, Any], ...] = ()
    append: bool = True
    max_parallel: int = 0
    # How often it may go on in another run, before its time limit; and the signal then, like `USR1@120`.
    continues: int = 0
    signal: str = ""
    variables: dict[str, str] = {}
    python_path: tuple[str, ...] = ()
    # Empty: the newest one.
    snapshot: str = ""
    git: GitState | None = None
    # For a dry run, of what the real one saves first: how the script begins, and whether `directory` is there.
    unsaved_script: str | None = None
    unsaved_directory: bool = False


class RunJob(Arguments, frozen=True, kw_only=True):
    """`job run`: what a submitted job does on its node."""

    job: str
    # Whether this Slurm's steps can run beside each other.
    overlap: bool = True


class FurtherJob(Arguments, frozen=True, kw_only=True):
    """`job further`: what a further node of a submitted job does; `target` is where the first one has its copy."""

    job: str
    task: int = 0
    target: str


class DebugTask(Arguments, frozen=True, kw_only=True):
    """`job debug`: a task of a submitted job, on the node that is held now."""

    job: str
    task: int = 0


class ListJobs(Naming, frozen=True):
    """`jobs`: all open ones and the newest of the others, or all of them."""

    every: bool = False
    state: str = ""
    tag: str = ""
    # Seconds since 1970; 0 is no limit.
    since_s: float = 0


class OneJob(Arguments, frozen=True, kw_only=True):
    """`jobs show`: by Slurm's number, `12_3` for a task, by our id or its last digits, or `last`."""

    wanted: str


class JobOutputs(Arguments, frozen=True, kw_only=True):
    """`jobs outputs`: what was collected from a job, or from these tasks; with `send` also the files themselves."""

    wanted: str
    tasks: tuple[int, ...] = ()
    send: bool = False


class PutOutputs(DryRun, frozen=True, kw_only=True):
    """`job outputs`: the same into a directory of the node."""

    job: str
    to: str
    tasks: tuple[int, ...] = ()

    path_fields: ClassVar[tuple[str, ...]] = ("to",)
    laptop_fields: ClassVar[tuple[str, ...]] = ("to",)
    named_fields: ClassVar[tuple[str, ...]] = ("to",)
    help_of: ClassVar[str] = "jobs outputs"


class RerunJob(DryRun, frozen=True, kw_only=True):
    """`jobs rerun`: the same command and parameters; `slurm` are the resources that change.

    From the job's own snapshot, from this one, or with `newest` from the newest.
    """

    wanted: str
    failed: bool = False
    slurm: dict[str, Any] = {}
    snapshot: str = ""
    newest: bool = False
    git: GitState | None = None


class PruneJobs(DryRun, frozen=True):
    """`jobs prune`: these, or all that ended longer than `keep_jobs` ago; `outputs`: also those that made something."""

    wanted: tuple[str, ...] = ()
    outputs: bool = False
    # Of which of these it was agreed that what lies on nodes is given up, by id; None: of all that are named.
    given_up: tuple[str, ...] | None = None


class CompareJobs(Arguments, frozen=True, kw_only=True):
    """`jobs diff`."""

    first: str
    second: str


class CancelJobs(DryRun, frozen=True):
    """`cancel`: these, or all open ones of this workspace, or those with a tag."""

    wanted: tuple[str, ...] = ()
    mine: bool = False
    tag: str = ""


class ReadLogs(Arguments, frozen=True, kw_only=True):
    """`logs`: what a task printed; `follow` until it ends."""

    wanted: str
    task: int | None = None
    failed: bool = False
    follow: bool = False
    only_error: bool = False


class TailLogs(Arguments, frozen=True, kw_only=True):
    """`job tail`: the same on the task's own node, from these positions on."""

    job: str
    task: int
    output_from: int = 0
    error_from: int = 0
    follow: bool = False
    only_error: bool = False
