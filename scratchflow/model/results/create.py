"""`create`: the workspace and its first snapshot."""

from scratchflow.model.results.base import Result


class WorkspaceCreated(Result, frozen=True):
    """`create`: the workspace and its first snapshot."""

    path: str
    snapshot: str | None
    env: str | None = None
    activate: str = ""
    """What a shell on the node runs to use the environment."""
    use_with: str = ""
    """The command after which `run`, `shell`, `serve` and jobs use the environment; empty when they do already."""
    save_with: str = ""
    """The command after which backups take the environment along; empty when they do already."""
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
