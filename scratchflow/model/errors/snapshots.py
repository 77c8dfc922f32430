"""Snapshots: not there, damaged, not to be removed; paths in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scratchflow.model.errors.base import ScratchflowError

if TYPE_CHECKING:
    from pathlib import Path


class SnapshotOfJob(ScratchflowError):
    """A snapshot that the record of a job needs was to be removed."""

    code = "snapshot.of_job"
    exit_code = 2
    message = "snapshot `{snapshot}` is the code of {which}; nothing was removed"
    hint = (
        "`scratchflow jobs prune {job}` forgets that first, and with `--outputs` also what it made;"
        " otherwise the snapshot may go when `backup.keep_jobs` has passed"
    )


class SnapshotKept(ScratchflowError):
    """A snapshot that is marked to stay was to be removed."""

    code = "snapshot.kept"
    exit_code = 2
    message = "snapshot `{snapshot}` stays: {reason}; nothing was removed"
    hint = (
        "`scratchflow snapshots unkeep {marked}` takes the mark away; then run this command again"
    )


class RemovalDeclined(ScratchflowError):
    """The user was shown the snapshots to remove, and said no."""

    code = "snapshot.removal_declined"
    exit_code = 2
    message = "nothing was removed"
    is_choice = True
    hint = "`scratchflow snapshots prune --dry-run` shows what would go by the rules, and why the others stay"


class RemovalUnconfirmed(ScratchflowError):
    """Snapshots are removed by id only after a question or with `--yes`, and nobody could be asked."""

    code = "snapshot.removal_unconfirmed"
    exit_code = 2
    message = "nothing was removed: there is no terminal to ask on"
    hint = "`scratchflow snapshots prune {snapshots} --yes` removes without a question"


class SnapshotMissing(ScratchflowError):
    """The store has no such snapshot."""

    code = "snapshot.missing"
    exit_code = 30
    message = "no such snapshot: `{wanted}`"
    hint = "{next_step}"


class SnapshotAmbiguous(ScratchflowError):
    """What was given, a part of an id or of a name, fits several snapshots."""

    code = "snapshot.ambiguous"
    exit_code = 30
    message = "`{wanted}` fits {count} snapshots"
    hint = "they are {matches}; write one of these ids, or more of it"


class SnapshotDamaged(ScratchflowError):
    """A snapshot does not read back as it was written."""

    code = "snapshot.damaged"
    exit_code = 31
    message = "snapshot `{snapshot}` is damaged: {reason}"
    hint = "`scratchflow snapshots verify` checks the others; restore an older one by its id"


class PerhapsDamaged(SnapshotDamaged):
    """Another snapshot's archive that it reads from has another size: what it reads of that may be whole."""

    code = "snapshot.perhaps_damaged"
    message = "snapshot `{snapshot}` may be damaged: {reason}"
    hint = (
        "`scratchflow snapshots verify {snapshot}` says whether what it reads of that is whole;"
        " if it is, it can be restored after that"
    )


class SnapshotNewer(SnapshotDamaged):
    """A newer scratchflow made an archive that the snapshot needs: nothing is wrong with it, and this one cannot read it."""

    code = "snapshot.newer"
    message = "snapshot `{snapshot}` needs a newer scratchflow: {reason}"
    hint = "until then, restore an older one by its id: `scratchflow snapshots list` shows them"


class SnapshotClosed(SnapshotDamaged):
    """An archive that the snapshot needs may not be opened: nobody knows whether anything is wrong with it."""

    code = "snapshot.closed"
    message = "snapshot `{snapshot}` cannot be read: {reason}"
    hint = "`ls -l` beside the archive shows whose it is and who may read it; `chmod u+r` lets its owner"


class ArchiveWithoutEnd(SnapshotDamaged):
    """A file to take in or to restore from has no end-of-archive mark: it may have been cut between two members."""

    code = "archive.no_end"
    message = (
        "`{path}` was not taken: it has no end-of-archive mark, so files may be missing at its end"
    )
    hint = (
        "bring it again from where it was made; if you know that it is whole,"
        " `(lz4 -dc {typed} && head -c 1024 /dev/zero) | lz4 - NEW.tar.lz4` adds the mark"
    )


class ArchiveUnreadable(SnapshotDamaged):
    """A file to take in or to restore from is no `.tar.lz4`, or not a whole one: nothing is wrong with the store."""

    code = "archive.unreadable"
    message = "`{path}` cannot be read as a .tar.lz4: {reason}"
    hint = "`lz4 -dc {typed} | tar tv` shows how far it can be read; copy it again, or export it again where it came from"

    @classmethod
    def found(cls, path: Path, reason: object) -> ArchiveUnreadable:
        """Of this file."""
        import shlex  # only ever needed on the way to an error

        return cls(path=path, reason=reason, typed=shlex.quote(str(path)))


class DamagedAtSource(SnapshotDamaged):
    """A snapshot that was to be copied is damaged in the store that it comes from."""

    code = "snapshot.damaged_at_source"
    message = "snapshot `{snapshot}` is damaged in the store of profile `{source}`: {reason}"
    hint = "`scratchflow snapshots verify` reads them all there; copy another one by its id"


class DamagedOnMirror(SnapshotDamaged):
    """An archive on the mirror is missing there, or is not what was sent."""

    code = "snapshot.damaged_on_mirror"
    message = "snapshot `{snapshot}` cannot come from the mirror: {reason}"
    hint = (
        "`scratchflow snapshots import --from-mirror --all` brings every snapshot that is whole there; while a store has"
        " `{archive}` whole, delete it on the mirror (`rclone deletefile {file}`), and `scratchflow snapshots mirror` sends it again"
    )


class NothingOnMirror(ScratchflowError):
    """Where the mirror should be there is no snapshot, or nothing at all."""

    code = "snapshot.none_on_mirror"
    exit_code = 30
    message = "there is no snapshot on the mirror `{mirror}`"
    hint = "`rclone lsf {mirror}` where the store is shows what is there; `scratchflow config get backup.mirror` shows what the profile says"


class SnapshotUnreadable(ScratchflowError):
    """The snapshot that was asked for is there, and its manifest cannot be used: half, foreign, or of a newer version."""

    code = "snapshot.unreadable"
    exit_code = 31
    message = "snapshot `{snapshot}` cannot be read: {reason}"
    hint = "{next_step}"


class LatestUnreadable(ScratchflowError):
    """The newest snapshot cannot be read, and an older one must not silently take its place."""

    code = "snapshot.latest_unreadable"
    exit_code = 31
    message = "the newest snapshot, `{snapshot}`, cannot be read: {reason}"
    hint = "{next_step}"


class LastSnapshot(ScratchflowError):
    """No snapshot would be left that can be restored."""

    code = "snapshot.last"
    exit_code = 2
    message = "`{snapshot}` is the last snapshot that could be restored; nothing was removed"
    hint = "take another one first with `scratchflow backup`"


class UnsafeMember(ScratchflowError):
    """An archive wants to write outside its target."""

    code = "archive.unsafe_member"
    exit_code = 32
    message = "`{archive}` holds an unsafe member `{member}`: {reason}"
    hint = "nothing outside the target was touched; do not trust this archive"


class PathMissing(ScratchflowError):
    """The snapshot has no such path."""

    code = "snapshot.no_such_path"
    exit_code = 30
    message = "snapshot `{snapshot}` has no `{path}`"
    hint = "paths are relative to the workspace, like `src/main.py`; `scratchflow snapshots show {snapshot} .` lists what it holds"


class PathInOthers(ScratchflowError):
    """The snapshot has no such path, and others have it."""

    code = "snapshot.path_in_others"
    exit_code = 30
    message = "snapshot `{snapshot}` has no `{path}`; {others} it"
    hint = "`scratchflow restore {newest} --path {typed}` brings it from the newest that has it"


class PathUnsaved(ScratchflowError):
    """The workspace has the path, and no snapshot has it yet."""

    code = "snapshot.path_unsaved"
    exit_code = 30
    message = (
        "snapshot `{snapshot}` has no `{path}`; the workspace has it, made since that snapshot"
    )
    hint = "`scratchflow backup` saves it; then run this command again"


class PathKeptOut(ScratchflowError):
    """The workspace has the path, and no backup takes it."""

    code = "snapshot.path_kept_out"
    exit_code = 30
    message = (
        "snapshot `{snapshot}` has no `{path}`; the workspace has it, and a backup leaves it out"
    )
    hint = "`.scratchignore`, `backup.exclude` or a `CACHEDIR.TAG` excludes it, or it cannot be read, which `scratchflow backup` says"


class PathAmbiguous(ScratchflowError):
    """A glob fits several paths where one is needed."""

    code = "snapshot.path_ambiguous"
    exit_code = 30
    message = "`{path}` fits {count} paths of snapshot `{snapshot}`"
    hint = "they are {matches}; write one of them"


class PathIsDirectory(ScratchflowError):
    """The content of a file was asked for, and there is a directory."""

    code = "snapshot.path_is_directory"
    exit_code = 30
    message = "`{path}` is a directory in snapshot `{snapshot}`"
    hint = "`scratchflow snapshots show {snapshot} {typed}` lists it; `scratchflow restore {snapshot} --path {typed}` brings it back"


class PathLeadsOut(ScratchflowError):
    """The content of a file was asked for, and there is a symlink to what the snapshot does not hold."""

    code = "snapshot.path_leads_out"
    exit_code = 30
    message = "`{path}` in snapshot `{snapshot}` is a symlink to `{target}`, which the snapshot does not hold"
    hint = "`scratchflow restore {snapshot} --path {typed}` brings the link; what it leads to was not saved with it"


class PathInNone(ScratchflowError):
    """The history of a path was asked for, and no snapshot has it."""

    code = "snapshot.path_in_none"
    exit_code = 30
    message = "no snapshot has `{path}` ({checked} looked at)"
    hint = "paths are relative to the workspace, like `src/main.py`; what is excluded or was made since the last `scratchflow backup` is in none"


class ContentTooLarge(ScratchflowError):
    """A file does not fit into one line of JSON."""

    code = "snapshot.content_too_large"
    exit_code = 2
    message = "`{path}` has {size}; `--json` takes files up to {most}"
    hint = "without `--json`, `scratchflow snapshots cat` writes a file of any size to stdout"
