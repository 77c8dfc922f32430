"""A submitted job as its record in the store tells it: what was asked for, how each task went, what Slurm said."""

from typing import Any, Literal

import msgspec

from scratchflow.model.snapshot import is_snapshot_id

RECORD_SCHEMA = 1

TaskPhase = Literal["restoring", "running", "requeued", "ended"]


class GitState(msgspec.Struct, frozen=True, kw_only=True):
    """Which commit the workspace was at; `dirty` when files that git tracks differ from it."""

    commit: str
    branch: str = ""
    dirty: bool | None = None
    # Whether there were files that git neither tracks nor ignores.
    untracked: bool | None = None


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`job.json`, written before Slurm is asked; unknown keys are passed over. Holds no environment."""

    schema: int = RECORD_SCHEMA
    id: str
    time: str
    name: str
    profile: str
    workspace: str
    snapshot: str
    command: list[str]
    # A path beneath the workspace, when the command runs a batch script of the user's.
    script: str = ""
    # Beneath the workspace.
    directory: str = ""
    # The parameters of each task; one task without any is a plain job.
    tasks: list[dict[str, Any]] = msgspec.field(default_factory=lambda: [{}])
    # Which of them were submitted, when not all were: a rerun of those that failed.
    chosen: list[int] = []
    # Whether parameters that the command does not name follow it as `--k=v`.
    append: bool = True
    # Of the spec: variables of the environment that are no secrets, and directories for PYTHONPATH.
    variables: dict[str, str] = {}
    python_path: list[str] = []
    tags: list[str] = []
    collect: list[str] = []
    git: GitState | None = None
    # What was asked of Slurm: the profile's `[slurm]` with the flags, and further arguments of `sbatch`.
    slurm: dict[str, Any] = {}
    sbatch: list[str] = []
    # What the script's own lines ask for besides, by the same keys; Slurm reads it there.
    script_slurm: dict[str, Any] = {}
    max_parallel: int = 0
    # How often at most it is put back into the queue before its time limit, and the signal that the command gets then.
    continues: int = 0
    signal: str = ""
    host: str = ""
    tool_version: str = ""
    rerun_of: str = ""
    # Slurm's number; None until its answer is known.
    number: int | None = None
    # When it was found out that Slurm never got it; empty otherwise.
    not_submitted: str = ""

    @property
    def task_numbers(self) -> list[int]:
        """The tasks that were submitted."""
        return self.chosen or list(range(len(self.tasks)))

    @property
    def is_array(self) -> bool:
        """Whether Slurm has it as an array."""
        return len(self.tasks) > 1


GONE = "the directory that the command was started in: it was moved away or removed, and what was in it is not saved"
"""Stands in `left_out` when the end of the command found nothing to look at."""
SAVED_ONCE = "; it is saved once it is "
"""In a line about a directory that has another name than it needs: before it is what and why, behind it the path to be."""


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`tasks/<n>.json`, written by the task itself: when it starts, when it saves outputs, when it ends."""

    task: int
    job_id: int | None
    node: str
    phase: TaskPhase
    # The others, when the job has several nodes.
    further_nodes: list[str] = []
    start: str
    end: str | None = None
    restarts: int = 0
    # How often it has put itself back into the queue, and why it did not do so again.
    continued: int = 0
    not_continued: str = ""
    directory: str = ""
    # The command's exit code, 128 and its number for a signal; None when it never ran or is not over.
    code: int | None = None
    # Why it was ended from outside, or did not run at all.
    ended_by: str = ""
    error: str = ""
    git: GitState | None = None
    # What the job was given, as Slurm told it: `cpus`, `memory_mb`, `gpus`.
    got: dict[str, str] = {}
    collected_files: int = 0
    collected_bytes: int = 0
    collected_time: str | None = None
    # How much of that was kept aside from the files of this run: earlier ones have made it.
    earlier_files: int = 0
    earlier_bytes: int = 0
    # The first of them, and what could not be saved.
    collected_paths: list[str] = []
    not_collected: list[str] = []
    # Pipes and sockets among them, which have no content: nothing of them is saved.
    left_out: list[str] = []
    # Links out of the job's copy, with where they lead: what is behind them is not saved.
    links_out: list[str] = []
    # What `--collect` named and was not there at the end.
    unmatched: list[str] = []
    # The directory is removed with the job, as `$SLURM_TMPDIR` is: what is not saved by its end is lost.
    goes_with_job: bool = False
    # The nodes on which an earlier run of the task has left something that was not saved when this one began.
    left_on: list[str] = []
    # By node: what of that could not be saved either, by the job that tried last.
    left_failed: dict[str, list[str]] = {}
    # The nodes on which a later job has saved what this run left.
    saved_on: list[str] = []
    # The record was gone from the store, and is the one that lay in the copy on the node: it knows nothing of the end.
    put_back: bool = False
    # When the store was first found full while the command ran: what it printed from then on may be missing.
    full_since: str = ""
    # What other jobs had left on the node and was given up by `jobs prune --outputs`: this run has removed it.
    removed: list[str] = []

    @property
    def unsaved_on(self) -> list[str]:
        """The nodes that may have something of it which is not in the store, if it is over."""
        nodes: list[str] = []
        if self.phase == "running" and not self.goes_with_job:
            nodes = [self.node, *self.further_nodes]
        elif not self.goes_with_job:
            nodes = self._not_collected_on()
        return [
            node for node in dict.fromkeys([*nodes, *self.left_on]) if node not in self.saved_on
        ]

    @property
    def of_earlier_runs(self) -> "TaskRecord":
        """What it says of them alone: nobody knows yet what the run that is at work will leave."""
        return msgspec.structs.replace(self, phase="restoring", not_collected=[], links_out=[])

    @property
    def unsaved_lines(self) -> dict[str, list[str]]:
        """By node, what could not be saved there: of this run and of earlier ones."""
        lines = {
            node: [line.removeprefix(f"{node}: ") for line in self.not_collected_of(node)]
            for node in (self.node, *self.further_nodes)
        }
        return {
            node: [*dict.fromkeys([*lines.get(node, []), *self.left_failed.get(node, [])])]
            for node in self.unsaved_on
        }

    @property
    def has_lost(self) -> bool:
        """Whether something of it may have gone with the job's directory, if it is over, or before by the command itself."""
        goes = self.goes_with_job and (self.phase == "running" or bool(self.not_collected))
        return goes or self.is_gone

    @property
    def is_gone(self) -> bool:
        """Whether the command has moved or removed the directory that it was started in."""
        return GONE in self.left_out

    def not_collected_of(self, node: str) -> list[str]:
        """Which of those lines speak of this node: those of further nodes begin with its name."""
        others = tuple(f"{name}: " for name in self.further_nodes)
        if node in self.further_nodes:
            return [line for line in self.not_collected if line.startswith(f"{node}: ")]
        return [line for line in self.not_collected if not line.startswith(others)]

    def _not_collected_on(self) -> list[str]:
        return [node for node in (self.node, *self.further_nodes) if self.not_collected_of(node)]


class SlurmTask(msgspec.Struct, frozen=True, kw_only=True):
    """How one task ended, in Slurm's words; read from `squeue` or `sacct` when somebody looked."""

    task: int
    job_id: int
    state: str
    reason: str = ""
    node: str = ""
    start: str | None = None
    end: str | None = None
    code: int | None = None
    signal: int | None = None
    cancelled_by: str = ""
    peak_memory_bytes: int | None = None
    cpu_s: float | None = None
    asked_memory: str = ""
    # Which run of the task it is the end of, as the task's own record counts them.
    restarts: int = 0
    # Whether accounting has said it, or there is none; `squeue` alone knows less, and is earlier.
    accounted: bool = False


class SlurmRecord(msgspec.Struct, frozen=True):
    """`slurm.json`: the tasks that Slurm said have ended, by number."""

    tasks: dict[int, SlurmTask] = {}
    # Tasks that Slurm, asked long after, knows nothing of any more: it is not asked again.
    unknown: list[int] = []


def is_job_id(text: str) -> bool:
    """Whether the text is an id of a job, and so safe as a file name. They look like those of snapshots."""
    return is_snapshot_id(text)


def unmatched_in_words(pattern: str) -> str:
    """Of something that `--collect` named and that was not there at the end: it may be a slip of the pen."""
    import shlex  # few jobs have such a pattern

    return f"`--collect {shlex.quote(pattern)}` matched nothing"
