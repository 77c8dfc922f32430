"""`backup` and `autobackup`: what is saved, and what the copies of the workspace on further nodes have."""

from typing import Literal

import msgspec

from scratchflow.model.results.base import Result


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
    path: str = ""
    """The workspace, on its node."""
    # Files of the parent that are gone; `shrunk` when that is most of them and nobody was asked.
    removed_files: int = 0
    shrunk: bool = False
    # It is a fork, and does not become the newest: another copy is the present work.
    beside: bool = False
    # Old snapshots that the rules no longer keep, removed after this one was committed.
    pruned: list[str] = []
    # The copies on the further nodes of the allocation, which this snapshot does not hold.
    copies: list[CopyShown] = []


class NodeSaved(Result, frozen=True):
    """`save node`: the last snapshots of a node, and what is in none."""

    snapshot: str | None
    stored: bool = False
    """Whether `snapshot` was taken just now: something was there that no snapshot had."""
    others: dict[str, str] = {}
    """Other workspaces of ours on that node, by name, with the snapshot that holds each."""
    other_stores: dict[str, str] = {}
    """Of those, which are in another store than the profile's, and in which."""
    own_others: list[str] = []
    """Of those, the ones that this profile works in, in this job, as with `--set workspace=`: `hop` brings them along."""
    old_others: list[str] = []
    """Of those, older copies that an earlier job left, without anything that was in no snapshot."""
    forked_others: list[str] = []
    """Of those, older copies with changes, which are saved as forks."""
    read_back_age_s: int | None = None
    """How long ago all that `snapshot` needs was read back from the store and found whole."""
    newer: str | None = None
    """The newest snapshot, when what was on the node is another copy, which `snapshot` holds."""
    # Paths that no snapshot holds; the first few, and how many.
    unsaved: int = 0
    unsaved_paths: list[str] = []
    unsaved_ways: list[str] = []
    """What can be done about them, one for each reason."""
    excluded: list[str] = []
    """Patterns by which files of the workspace are in no snapshot because that is wanted."""
    other_files: list[str] = []
    """What else of the user's lies on the same scratch; `backup.also` would save it."""
    debug_copies: list[str] = []
    """What `jobs debug` made there, with what was changed in it."""
    # Scratch is removed with the job: the snapshots are the only copy.
    goes_with_job: bool = False
    foretold: dict[str, BackupTaken] = {}
    """Of a dry run: what would be stored of each workspace, by name."""


class AutobackupShown(msgspec.Struct, frozen=True, kw_only=True):
    """The auto-backup, as its last sign of life tells."""

    enabled: bool
    every_s: float
    next_time: str | None = None
    next_why: str = ""
    """Why then: `regular` by the interval, `retry` after a failure, `final` before the time limit, `closing` once more."""
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
    of_profile: str = ""
    """The other profile of the same workspace and store whose auto-backup runs there; empty when it is this one's own."""
    switched_off: bool = False
    """It ran in this job and was ended: by `autobackup off`, most likely."""
    kept_off_by: str = ""
    """The other profile whose auto-backup has the same workspace and store on that node with other settings: none of this one can run there."""
    kept_off_job: int | None = None
    """The job of that profile."""
    others: list[str] = []
    """The further nodes of the allocation on which one runs too."""
    missing_on: list[str] = []
    """The further nodes of the allocation on which none runs, or gives no sign of life."""
    failed_on: dict[str, str] = {}
    """The further nodes whose last automatic backup failed, with the reason."""


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
    workspace_exists: bool | None = None
    """False when there is nothing to save on the node yet; null when it is not known."""
    of_profile: str = ""
    """The other profile whose auto-backup saves this very workspace there."""


class AutobackupStatus(Result, frozen=True):
    """`autobackup status`."""

    node: str | None
    autobackup: AutobackupShown
    log: str | None = None


class AutobackupEnded(Result, frozen=True):
    """`autobackup run`: how the loop on the node came to its end."""

    reason: str
    backups: int
