"""`restore`, and `settle`, which restores or creates, whichever is needed."""

from typing import Literal

from scratchflow.model.results.base import OnNodes


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
    would_save: bool = False
    """Of a dry run: what is there and in no snapshot yet would be saved first."""
    would_commit: bool = False
    """Of a dry run: a snapshot "restored ID" would make the older one the newest again."""
    was_half: bool = False
    """What was there had been left by a restore that was cut short: so is what `safety_snapshot` holds."""
    # Only some paths were asked for, and all of them were there already.
    is_part: bool = False
    # The machine that `target` is on.
    host: str = ""
    place: str = ""


class Settled(OnNodes, frozen=True, kw_only=True):
    """`settle`: what had to be done so that the workspace is there."""

    action: Literal["created", "restored", "nothing"]
    path: str
    snapshot: str | None
    restored: Restored | None = None
    newer: str | None = None
    """The newest snapshot, when what was left in place does not continue it."""
    missing_layer: str = ""
    """`venv` or `conda`, when the environment that the profile names is not on the node."""
