"""`restore`: what it refuses, and what it could not finish."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class NotSaved(ScratchflowError):
    """A restore would replace something that could not be saved first."""

    code = "restore.not_saved"
    exit_code = 35
    message = "`{path}` would be replaced, and is in no snapshot: {reason}"
    hint = "nothing was changed; {remedy}, then `scratchflow restore {snapshot}`"


class MountInTheWay(ScratchflowError):
    """Something is mounted where a restore would write, or would have to move something aside."""

    code = "restore.mount"
    exit_code = 35
    message = (
        "`{path}` is a mount point, and snapshot `{snapshot}` belongs there; nothing was changed"
    )
    hint = "unmount it, then `scratchflow restore {snapshot}`; `--to DIR` restores somewhere else"


class RestoreNotPermitted(ScratchflowError):
    """A restore would have to change a directory that the user may not write to."""

    code = "restore.not_permitted"
    exit_code = 35
    message = "`{path}` belongs to {owner}, and you may not write to it; nothing was changed"
    hint = (
        "make it writable or rename it, then `scratchflow restore {snapshot}`;"
        " `--to DIR` restores somewhere else"
    )


class OtherKindInTheWay(ScratchflowError):
    """A part of a snapshot belongs where something of another kind is now: a file in place of a directory, or the reverse."""

    code = "restore.other_kind"
    exit_code = 35
    message = "`{path}` is {now} now, and {then} in snapshot `{snapshot}`; nothing was changed"
    hint = "move or rename it, then run it again; `--to DIR` restores somewhere else"


class TargetNotEmpty(ScratchflowError):
    """The restore target holds files that scratchflow does not know."""

    code = "restore.target_not_empty"
    exit_code = 35
    message = "`{target}` is not empty, and its content is in no snapshot known here"
    hint = (
        "`scratchflow restore --replace` moves it aside first; `scratchflow restore --to DIR` restores"
        " somewhere else; `scratchflow --set workspace=NAME up` works in a directory beside it"
    )


class FileNeedsRoom(ScratchflowError):
    """The workspace is not empty, and a file, which is no step of its history, would take its place."""

    code = "restore.file_needs_room"
    exit_code = 35
    message = "`{target}` is not empty, and the file would take its place; nothing was changed"
    hint = "the same with `--replace` moves what is there aside first; with `--to DIR` the file is restored somewhere else"


class TargetInStore(ScratchflowError):
    """`restore --to` names the store, or a directory in it."""

    code = "restore.target_in_store"
    exit_code = 35
    message = "`{target}` is where the snapshots are stored"
    hint = "choose a directory that is not in `{store}`, and leave that one alone"


class TargetIsWorkspace(ScratchflowError):
    """`restore --to` names the workspace itself."""

    code = "restore.target_is_workspace"
    exit_code = 35
    message = "`{target}` is the workspace"
    hint = "`scratchflow restore {snapshot}` without `--to` brings it there, and saves first what it replaces"


class WorkspaceOfOther(ScratchflowError):
    """The directory that a restore would move aside is the workspace of another profile, which is at work in it."""

    code = "restore.other_profile"
    exit_code = 35
    message = "`{path}` is the workspace of profile `{profile}`, which works in it now{job}"
    hint = (
        "`scratchflow config set scratch {own_scratch}` keeps the two apart, and `scratchflow up` then brings the last"
        " snapshot there; `scratchflow restore --replace --force` moves it aside all the same"
    )


class TargetDiffers(ScratchflowError):
    """Files in the directory that `--to` names are neither the snapshot's nor from an earlier take-home."""

    code = "restore.target_differs"
    exit_code = 35
    message = (
        "`{target}` has other files where the snapshot has {count}: {paths}; nothing was changed"
    )
    hint = "`--replace` keeps each of them as `NAME.before-ID`; or name another directory"


class RestoreIncomplete(ScratchflowError):
    """A restore was interrupted; the workspace is half of two states."""

    code = "restore.incomplete"
    exit_code = 37
    message = "a restore of snapshot `{snapshot}` into `{target}` did not finish"
    hint = (
        "`scratchflow restore` finishes it; `scratchflow restore --abandon` takes a snapshot of what"
        " is there, and leaves it as it is"
    )


class RestoreUnfinishable(RestoreIncomplete):
    """A restore was interrupted, and its snapshot was removed since then."""

    code = "restore.snapshot_gone"
    exit_code = 37
    message = (
        "a restore of snapshot `{snapshot}` into `{target}` did not finish, and cannot be finished:"
        " the store does not have that snapshot"
    )
    hint = (
        "`scratchflow restore --abandon` takes a snapshot of what is there, and leaves it as it is;"
        " `scratchflow restore ID` brings another snapshot"
    )


class NothingUnfinished(ScratchflowError):
    """There is no unfinished restore to give up."""

    code = "restore.nothing_unfinished"
    exit_code = 2
    message = "no restore into `{path}` is unfinished, so there is nothing to abandon"
    hint = "`scratchflow backup` saves the workspace as it is"
