"""`up`, and what it does at the end: `open`."""

from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.base import Result
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.status import Problem, StatusShown


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
    host: str | None = None
    """The ssh host that leads there; null when the workspace is on this machine."""
    exists: bool | None = None
    """Whether the workspace is there; null when nobody has looked in this job."""
    has_editor: bool = False
    """Whether the program of `command` is on this machine."""


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
