"""`run`, `shell` and `attach`: what runs on the node, where, and in which session."""

import msgspec

from scratchflow.model.results.base import NodeFailure, Result


class ScratchLocated(Result, frozen=True):
    """`locate`: where the job has its scratch."""

    path: str


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
    base: str = ""
    """The snapshot that the node's copy is of, when that is known and it is not the newest one."""
    newest: str = ""
    """That newest one."""


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
    base: str = ""
    """The snapshot that the workspace came from, when it does not continue the newest one."""
    newest: str = ""
    """That newest one."""
    is_old: bool = False
    """Whether an earlier job left that copy, so that `up` replaces it."""


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
