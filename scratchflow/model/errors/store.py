"""The store: out of reach, locked, full, another one than it was."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.units import format_size


class NoSpace(ScratchflowError):
    """Disk or quota is full."""

    code = "disk.no_space"
    exit_code = 33
    message = "no space left at `{path}`: {reason}"
    hint = (
        "earlier snapshots are intact; free some space, then try again: `scratchflow snapshots prune` "
        "removes what no rule keeps, `scratchflow snapshots prune ID` the ones that you name. If that is not "
        "enough, `scratchflow config set store PATH` takes a directory on another file system"
    )
    retryable = True


class EmptyStoreFull(NoSpace):
    """Disk or quota is full, and the store has no snapshot that could be removed."""

    code = "disk.no_space_for_first"
    hint = (
        "the store has no snapshot that could be removed; delete or move away what you do not need on that file"
        " system (`df -h`, `df -i` and `quota -s` show how full it is), then run it again; or `scratchflow config set store PATH`"
        " takes a directory on another file system"
    )


class TargetFull(NoSpace):
    """The disk or quota is full where something is put that is not the store: scratch, `--to DIR`, a home."""

    code = "disk.target_full"
    hint = (
        "the store is intact, and pruning it does not help here; delete or move away what you do not"
        " need on that file system (`df -h`, `df -i` and `quota -s` show how full it is), then run it again"
    )


def too_much(coming_bytes: int, free_bytes: int) -> str:
    """Why nothing is begun: the `reason` of NoSpace."""
    coming, free = format_size(coming_bytes), format_size(free_bytes)
    return f"{coming} would come, and there is room for {free}"


class NoRoomToPrune(ScratchflowError):
    """The disk or quota is so full that not even the lock fits, and no reserve is left."""

    code = "disk.no_room_to_prune"
    exit_code = 33
    message = "nothing was removed: there is no room in `{path}` for the lock ({reason})"
    hint = "delete any file of yours on that file system (1 MB is enough), then run it again"


class StoreLocked(ScratchflowError):
    """Another scratchflow is writing to the store."""

    code = "store.locked"
    exit_code = 34
    message = "the store is in use by {owner}"
    hint = (
        "wait for it to finish; a lock whose owner died is taken over by itself after {stale_after}"
    )
    retryable = True


class LockLost(ScratchflowError):
    """This run held the store, fell silent for too long, and no longer holds it."""

    code = "store.lock_lost"
    exit_code = 34
    message = "this run no longer holds the store: {reason}; no snapshot was committed"
    hint = "earlier snapshots are intact; run it again"
    retryable = True


class StoreUnusable(ScratchflowError):
    """The store's directory is not there, not ours, or open to others: the profile must change."""

    code = "store.unusable"
    exit_code = 10
    message = "the store `{path}` cannot be used: {reason}"
    hint = "{remedy}"


class StoreNotShared(ScratchflowError):
    """The node and the login host see two different directories under the store's path."""

    code = "store.not_shared"
    exit_code = 10
    message = (
        "`{store}` on {node} and `{other}` on {login} are not the same directory; nothing was saved"
    )
    hint = (
        "check that it is mounted on {node} (`findmnt -T {store:sh}`), or set `store` in the profile to a "
        "directory on shared storage: `scratchflow config set store PATH`"
    )


class StoreLost(ScratchflowError):
    """The store was at this path before, and there is nothing now: its file system may not be mounted."""

    code = "store.lost"
    exit_code = 10
    message = "the store `{store}` was there before, and {state} on `{host}` now"
    hint = (
        "check that its file system is mounted (`findmnt -T {store:sh}`); if you removed the store on purpose, "
        "`rm {note:sh}` on `{host}` lets a new one begin there{from_mirror}"
    )


class StoreReplaced(ScratchflowError):
    """The store that the workspace was saved to is not there any more; something else has its path."""

    code = "store.replaced"
    exit_code = 10
    message = (
        "the store `{store}` on {node} is not the one that `{workspace}` was saved to: it does not "
        "hold snapshot {snapshot}, so nothing is saved to it"
    )
    hint = "check that it is mounted (`findmnt -T {store:sh}`); {ways}"
    ANOTHER_PATH = (
        "if the old store is gone for good, start a new one with `scratchflow config set store PATH`"
        " and another path"
    )

    @staticmethod
    def keeping(workspace: object, snapshot: str, node: str, *, is_new: bool) -> str:
        """What makes room for what another store has, or for a new workspace in one that has just begun.

        By this name `clear` and `hop` know what it keeps, and keep the node as long as it is there.
        """
        import shlex  # only ever needed on the way to an error

        move = shlex.join(["mv", str(workspace), f"{workspace}.before-{snapshot}"])
        when = "if you removed the old store on purpose" if is_new else "if it is"
        brings = "makes a new workspace" if is_new else "brings the newest snapshot"
        return (
            f"{when}, `scratchflow run -- {move}` keeps what is on {node} under another name,"
            f" and `scratchflow up` then {brings}"
        )


class StoreOverlaps(ScratchflowError):
    """The store lies inside what it is to save, or the other way round."""

    code = "store.overlaps"
    exit_code = 10
    message = "the store's `{store}` and the workspace's `{root}` lie inside each other"
    hint = "set `store` in the profile to a directory outside of scratch"
