"""Files and snapshots on their way: `snapshots copy`, `export` and `import`."""

from __future__ import annotations

from pathlib import Path

from scratchflow.model.errors.base import ScratchflowError


class CopyBroken(ScratchflowError):
    """Not all of what was being copied to another store arrived; what did arrive stays there."""

    code = "copy.broken"
    exit_code = 14
    message = "the copy to profile `{to}` broke off: {reason}"
    hint = "what has arrived is kept for a week: run it again, and it goes on from there"
    retryable = True


class FileFailed(ScratchflowError):
    """A file that was named on the command line cannot be read or written."""

    code = "file.failed"
    exit_code = 2
    message = "`{path}`: {reason}"
    hint = "check the path, its permissions and the free space there"


class RequirementsUnread(FileFailed):
    """The file that `create --requirements` names cannot be used."""

    code = "file.requirements"
    hint = "check the path: `--requirements` takes a file of the machine that you type on; `scratchflow create --help` says which"


class FileIncomplete(ScratchflowError):
    """The archive is an incremental one and holds only a part of its snapshot."""

    code = "file.incomplete"
    exit_code = 2
    message = "`{path}` is an incremental snapshot: it holds only what changed, the rest is in other archives"
    hint = "`scratchflow snapshots export` makes one complete file of it"


class FileWithoutWorkspace(ScratchflowError):
    """The archive holds nothing, or only directories that are saved with a workspace."""

    code = "file.empty"
    exit_code = 2
    message = "`{path}` holds nothing for workspace `{workspace}`; nothing was done"
    hint = "`lz4 -dc {typed} | tar tv` lists what is in it"

    @classmethod
    def found(cls, path: Path, workspace: str) -> FileWithoutWorkspace:
        """Of this archive."""
        import shlex  # only ever needed on the way to an error

        return cls(path=path, workspace=workspace, typed=shlex.quote(str(path)))


class WorkspaceNamedOtherwise(ScratchflowError):
    """Snapshots can be copied only between workspaces of the same name: it is part of every path in them."""

    code = "copy.other_workspace"
    exit_code = 2
    message = "the snapshots are of a workspace named `{name}`, and that of profile `{to}` is named `{here}`"
    hint = (
        "`scratchflow -p {to} config set workspace {typed}` gives it the same name; what it saved as `{here}` stays in its store."
        " Or `snapshots export FILE` with the profile that has them and `snapshots import FILE` with the other one, which renames"
    )


def named_otherwise(name: str, *, to: str, here: str) -> WorkspaceNamedOtherwise:
    """The error for snapshots of the workspace `name` that are to go to a profile whose workspace is `here`."""
    import shlex  # only ever needed on the way to an error

    return WorkspaceNamedOtherwise(name=name, to=to, here=here, typed=shlex.quote(name))


class CopyToItself(ScratchflowError):
    """Source and target are one store."""

    code = "copy.same_store"
    exit_code = 2
    message = "profiles `{source}` and `{to}` have the same store: there is nothing to copy"
    hint = "{next_step}"


def same_store(source: str, to: str, *, name: str, here: str) -> CopyToItself:
    """The error for two profiles with one store, whose workspaces are `name` and `here`, with what brings the work over all the same."""
    import shlex  # only ever needed on the way to an error

    if source == to:
        next_step = "`scratchflow profiles list` shows the stores of all profiles"
        return CopyToItself(source=source, to=to, next_step=next_step)
    first, then = f"scratchflow -p {shlex.quote(source)}", f"scratchflow -p {shlex.quote(to)}"
    rename = ""
    if name != here:
        rename = f"`{then} config set workspace {shlex.quote(name)}` gives both workspaces one name; after that, "
    next_step = f"{rename}`{first} clear` saves the workspace and gives its node back, and `{then} up` restores it on a node of `{to}`"
    return CopyToItself(source=source, to=to, next_step=next_step)


class FileTaken(ScratchflowError):
    """The file to be written exists; nothing is ever overwritten."""

    code = "file.taken"
    exit_code = 35
    message = "`{path}` exists already"
    hint = "choose another name, or remove it first"


class InTheWay(ScratchflowError):
    """Under a name that a snapshot from elsewhere needs, the store has something that is not replaced."""

    code = "copy.in_the_way"
    exit_code = 31
    message = "snapshot `{snapshot}` cannot come into the store: {what}"
    hint = "look what it is, move it away, and run this again"


class CopyUnderWay(ScratchflowError):
    """Another run is copying the same archive into the store."""

    code = "copy.under_way"
    exit_code = 34
    message = "the archive `{archive}` is being copied there by another run"
    hint = "wait for that one to finish; what it brought is there then"
    retryable = True


class MirrorUnset(ScratchflowError):
    """The profile has no mirror."""

    code = "mirror.unset"
    exit_code = 10
    message = "the profile `{profile}` has no mirror"
    hint = "`scratchflow config set backup.mirror remote:path` names one; `rclone config` on the login host makes a remote"


class MirrorForeign(ScratchflowError):
    """The directory that was to be the mirror is the mirror of another store."""

    code = "mirror.foreign"
    exit_code = 10
    message = "`{mirror}` is the mirror of another store; nothing was sent"
    hint = "`scratchflow config set backup.mirror remote:path` with a path of this store's own; what is there can be read all the same"


class RcloneMissing(ScratchflowError):
    """There is no rclone where the mirror is written from."""

    code = "mirror.no_rclone"
    exit_code = 40
    message = "there is no working `{program}` here for the mirror: {reason}"
    hint = "install the package `rclone`, or put the program from https://rclone.org/downloads there and name it: `scratchflow config set backup.rclone '~/bin/rclone'`"


class MirrorFailed(ScratchflowError):
    """rclone could not do what was asked of it."""

    code = "mirror.failed"
    exit_code = 40
    message = "the mirror `{mirror}` cannot be used: {words}"
    hint = "`rclone lsf {mirror}` where the store is shows whether it works by hand; `scratchflow snapshots mirror` goes on where it stopped"
    retryable = True
