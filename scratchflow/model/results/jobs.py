"""Submitted jobs: `submit`, `jobs`, `logs`, `cancel`."""

from typing import Any, Literal

import msgspec

from scratchflow.model.job import GitState
from scratchflow.model.results.base import Result

Condition = Literal["waiting", "running", "succeeded", "failed", "cancelled", "unknown"]
"""What a state comes to, whichever of Slurm's words it has."""


class Frozen(Result, frozen=True):
    """`freeze`: the snapshot that holds the workspace as it is now, and its git commit."""

    snapshot: str | None
    changed_files: int
    changed_bytes: int
    duration_s: float
    git: GitState | None = None
    # With a dry run, when a snapshot would be taken: how the script begins that a job is to run, and
    # whether the directory is there that it is to start in.
    script: str | None = None
    has_directory: bool = False


class TaskPlanned(msgspec.Struct, frozen=True, kw_only=True):
    """A task that `submit --dry-run` would submit."""

    task: int
    parameters: dict[str, Any]


class Submitted(Result, frozen=True):
    """`submit`: the job that Slurm has now, or with `--dry-run` what would be asked."""

    job: str
    number: int | None
    name: str
    tasks: int
    snapshot: str
    # The workspace as it was just now; otherwise the newest snapshot, because no node is held.
    is_current: bool = False
    saves_first: bool = False
    """With `--dry-run`: the real one would save the workspace first, in a new snapshot."""
    directory: str = ""
    """Where the record, the logs and what is collected are."""
    command: list[str] = []
    """The `sbatch` that asks."""
    runs: list[str] = []
    """What a task runs, with `--dry-run`."""
    script_slurm: dict[str, Any] = {}
    """What the script's own `#SBATCH` lines ask for besides, with `--dry-run`."""
    first: list[TaskPlanned] = []
    """The first ten tasks and their parameters, with `--dry-run`."""
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
    handle: str = ""
    """What it is called and commands take: `41_3`, `41` where it is the only one."""
    state: str
    """In Slurm's words; besides `SUBMITTING`, `NOT_SUBMITTED` and `FORGOTTEN`."""
    condition: Condition = "unknown"
    is_open: bool = False
    """It can be cancelled, and may change by itself."""
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
    earlier_files: int = 0
    """How many of the collected files earlier runs of a requeued task have made."""
    collected_paths: list[str] = []
    not_collected: list[str] = []
    left_out: list[str] = []
    """Pipes and sockets, of which nothing can be saved."""
    links_out: list[str] = []
    """Links out of the job's copy, with where they lead: what is there was not saved."""
    unmatched: list[str] = []
    """What `--collect` named and was not there when the task ended."""
    peak_memory_bytes: int | None = None
    cpu_s: float | None = None
    cancelled_by: str = ""
    last_output: str | None = None
    """When it last printed something, as this host sees it."""
    got: dict[str, str] = {}
    continued: int = 0
    """How often it was put back into the queue before its time limit, to go on."""
    damaged: bool = False
    """Its own record cannot be read; a warning names the file, and what is shown is Slurm's word."""
    unsaved_on: list[str] = []
    """Of an ended task: the nodes that may have something which is not in the store."""
    lost: bool = False
    """What was not saved went with the job's directory, or the command has moved or removed that."""
    rest: str = ""
    """The same two for people, with a next step."""
    removed: list[str] = []
    """What it has removed on its node that other jobs had left there and that was given up by `jobs prune --outputs`."""


class JobShown(msgspec.Struct, frozen=True, kw_only=True):
    """One submitted job."""

    job: str
    number: int | None
    handle: str = ""
    """What it is called and commands take: Slurm's number, or the id while there is none."""
    name: str
    state: str
    """Of all tasks: `RUNNING` while one runs, else the worst end."""
    states: str = ""
    """Of several tasks how many are in which: `2 COMPLETED, 1 FAILED`."""
    condition: Condition = "unknown"
    """Of `state`."""
    is_open: bool = False
    """At least one task can be cancelled, and may change by itself."""
    is_array: bool = False
    failed_tasks: int = 0
    """How many `jobs rerun --failed` would submit."""
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
    rerun_of_number: int | None = None
    """Slurm's number of that job, in `jobs show`."""
    same_number: list[str] = []
    """The ids of other jobs that Slurm gave the same number, in `jobs show`; the newest is meant by it."""
    tasks: list[TaskShown] = []


class JobsListed(Result, frozen=True):
    """`jobs`: what is queued, running and done, oldest first."""

    jobs: list[JobShown]
    left_out: int = 0
    """Ended ones that `--all` would show."""
    damaged: list[str] = []
    """The ids of jobs whose record cannot be read; a warning names each."""
    no_cluster: bool = False
    """The profile has none, so that nothing can be submitted."""


class JobInspected(Result, frozen=True):
    """`jobs show`."""

    job: JobShown
    task: int | None = None
    text: str = ""
    """What people read of it."""


class OutputShown(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was collected: its path beneath the directory that it is taken to."""

    path: str
    bytes: int
    task: int
    is_link: bool = False
    """It is saved as a link, and has no content of its own."""


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
    """Where they lie in the store: `path` goes on from here; `host` sees it."""
    host: str
    place: str
    """The job's own directory beneath the one that `--to` names."""
    outputs: list[OutputShown]
    """The first 1000 of them."""
    files: int
    bytes: int
    tasks: list[int]
    """The tasks that were asked for, or all."""
    is_beside: bool = False
    """Some lie beside `directory`: those that begin with `0@`, of further nodes or earlier runs."""
    is_array: bool = False
    sha256: str = ""
    """Of what was sent."""
    unsaved_on: list[str] = []
    """The nodes that may have more of it, which is not in the store."""
    rest: list[str] = []
    """The same for people, with a next step; also that something is lost, or lies behind a link."""
    is_over: bool = True
    """Not when the job may make more of it yet, as far as is known."""
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
    given_up: bool = False
    """Something of it may not be saved, and nobody will save it any more."""
    given_up_on: list[str] = []
    """The nodes that may have that: the next job on each removes it."""
    rest: str = ""
    """The same for people, with a next step."""


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
    text: str = ""
    """What people read of it."""


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
