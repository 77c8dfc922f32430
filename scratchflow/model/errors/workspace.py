"""The workspace and the scratch that it is on: `create`, `backup`, the auto-backup."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class WorkspaceElsewhere(ScratchflowError):
    """The profile's workspace is on a compute node, and this machine is none."""

    code = "workspace.elsewhere"
    exit_code = 25
    message = 'the workspace of profile "{profile}" is on a compute node, and `{scratch}` is not on this machine'
    hint = "run this in a shell on the node; `-p local` works on this machine alone"


class WorkspaceMissing(ScratchflowError):
    """There is no workspace to back up."""

    code = "workspace.missing"
    exit_code = 30
    message = "there is no workspace at `{path}`"
    hint = "`scratchflow restore` brings the last snapshot there; `scratchflow create` starts a new one"


class WorkspaceRenamed(ScratchflowError):
    """The workspace's directory has another name on its node: what is in it would stay behind unsaved."""

    code = "workspace.renamed"
    exit_code = 35
    message = "`{path}` was renamed to `{now}` on {node}; no snapshot has what changed in it since {snapshot}"
    hint = (
        "`{way}` gives it its name back; `scratchflow restore` brings the last snapshot beside it"
    )


class NoWorkspaceForPart(WorkspaceMissing):
    """`restore --path` puts files into a workspace, and none is there: they alone would be taken for it from then on."""

    code = "workspace.missing_for_part"
    message = "there is no workspace at `{path}` that a part could be put into; nothing was changed"
    hint = (
        "`scratchflow restore` brings all of it from the last snapshot, and `restore ID` from another;"
        " `--to DIR` puts the part somewhere else"
    )


class WorkspaceBehind(ScratchflowError):
    """The copy on this node is of an earlier job, and work went on elsewhere: a part put into it would make it the newest work."""

    code = "workspace.behind"
    exit_code = 35
    message = "`{path}` came from snapshot {snapshot}, and work went on elsewhere up to {newest}; nothing was changed"
    hint = (
        "`scratchflow up` brings the newest here, and saves first what is not saved; then run it again."
        " `--to DIR` puts the part somewhere else. To go on with what is here: `scratchflow backup -m TEXT`, then run it again"
    )


class WorkspaceAtFormerScratch(ScratchflowError):
    """The profile's `scratch` was changed while a node is held, and the work of that job is where it was."""

    code = "workspace.former_scratch"
    exit_code = 35
    message = "the workspace of this job is `{path}`, and the profile says `{now}` since; nothing was done"
    hint = (
        "`scratchflow --set scratch={former} clear` saves it and gives the node back: the next one has the new place;"
        " `scratchflow config set scratch {former}` goes on as before"
    )

    @classmethod
    def of(cls, path: str, workspace: str, now: str) -> WorkspaceAtFormerScratch:
        """A workspace of this name is at `path`, and the profile says `now`."""
        from shlex import quote  # not for every start

        return cls(path=path, now=now, former=quote(path.removesuffix(f"/{workspace}") or "/"))


class UnsavedAtFormerScratch(WorkspaceAtFormerScratch):
    """Without a cluster: the profile's `scratch` was changed, and no snapshot has what was done at the former place."""

    code = "workspace.former_scratch_unsaved"
    message = (
        "`scratch` was changed, and the workspace at the former place, `{path}`, has changes that no snapshot has;"
        " nothing was done"
    )
    hint = (
        "`scratchflow --set scratch={former} backup` saves what is there; after that `scratchflow restore` brings it to `{now}`;"
        " `scratchflow config set scratch {former}` goes on as before"
    )


class WorkspaceOfProfile(WorkspaceMissing):
    """What is at the workspace's path is another profile's, and has its snapshots in that one's store."""

    code = "workspace.other_profile"
    message = (
        "`{path}` is the workspace of profile `{profile}`, with its snapshots in `{store}`;"
        " this profile has none there"
    )
    hint = (
        "`scratchflow -p {profile} backup` saves it there; `scratchflow config set workspace NAME` keeps the two apart;"
        " `scratchflow backup` takes it over into this profile's store"
    )


class WorkspaceKnown(ScratchflowError):
    """A workspace of that name has snapshots already; a new one must not take its place."""

    code = "workspace.known"
    exit_code = 35
    message = "the store already has snapshots of `{workspace}`, the last is `{snapshot}`"
    hint = "{next_step}; `{second}` makes a second workspace beside it"

    @classmethod
    def of(
        cls,
        workspace: str,
        snapshot: str | None,
        *,
        second: str,
        there: str,
        is_here: bool,
        brings: bool = False,
    ) -> WorkspaceKnown:
        """`there` ends a sentence about copying files into it; `is_here` says whether it is on this node now.

        With `brings` there are files to fill it with, perhaps because the wrong ones were brought before.
        """
        adding = f"to add files to it, copy them {there}"
        if is_here and brings:
            adding += (
                "; to start it over, `scratchflow backup`, delete what is in it, copy the files,"
                " then `scratchflow backup --allow-shrink`"
            )
        back = "`scratchflow restore` brings it back"
        next_step = adding if is_here else f"{back}; {adding}"
        return cls(workspace=workspace, snapshot=snapshot, second=second, next_step=next_step)


class WorkspaceFailed(ScratchflowError):
    """The file system of the workspace refused."""

    code = "workspace.failed"
    exit_code = 1
    message = "`{path}`: {reason}"
    hint = "check that you may write to `{path}`, and that its disk has no errors (`dmesg`, `df -h {path:sh}`)"


class LimitReached(ScratchflowError):
    """This process may not open more files or make larger ones, or has no more memory: that says nothing about the files."""

    code = "workspace.limit_reached"
    exit_code = 1
    message = "stopped at a limit of this shell or machine: {reason}"
    hint = (
        "`ulimit -a` shows the limits of this shell; `ulimit -n 1024` lets it open enough files,"
        " `ulimit -v unlimited` use what memory there is. Then run it again"
    )


class SourceUnusable(ScratchflowError):
    """The directory that `create --from` names cannot be brought."""

    code = "create.source_unusable"
    exit_code = 2
    message = "cannot bring `{path}` from {host}: {reason}"
    hint = "{next_step}"


class WorkspaceNotEmpty(ScratchflowError):
    """`create --from` never writes over files that are there."""

    code = "create.not_empty"
    exit_code = 35
    message = "`{path}` on {host} is not empty, and `--from` writes over nothing"
    hint = "`scratchflow backup` takes a snapshot of what is there; or move it away"


class WorkspaceBusy(ScratchflowError):
    """Another scratchflow on this machine is backing up or restoring the workspace."""

    code = "workspace.busy"
    exit_code = 34
    message = "another scratchflow is at work on `{path}`"
    hint = "wait for it to finish, then try again"
    retryable = True


class WorkspaceIsLink(ScratchflowError):
    """The workspace, or what is saved with it, is a symlink: only the link would be saved."""

    code = "workspace.link"
    exit_code = 10
    message = "`{path}` is a symlink, and only the link would be saved"
    hint = "put the directory itself there, or set `scratch` and `workspace` to where it is"


class ScratchUnsafe(ScratchflowError):
    """Scratch, or what is kept there, belongs to somebody else or can be written to by others."""

    code = "scratch.unsafe"
    exit_code = 10
    message = "`{path}`: {reason}"
    hint = "{remedy}"


class ScratchClosed(ScratchflowError):
    """Scratch is the user's own directory, and its mode keeps the user out."""

    code = "scratch.closed"
    exit_code = 10
    message = "scratch `{path}` on `{node}` is yours, and closed to you"
    hint = "`chmod u+rwx {path:sh}` there opens it; nothing in it was touched"


class ScratchUnusable(ScratchflowError):
    """The node has no such scratch, or the user may not write to it."""

    code = "scratch.unusable"
    exit_code = 10
    message = "scratch `{path}` cannot be used on `{node}`: {reason}"
    hint = (
        "`scratchflow config set scratch PATH` with a directory on the node's own disk{where}; "
        "then `scratchflow up` goes on with the same node"
    )


# Whoever is asked at once needs no command for it.
AGREED_TO_SHRINK = "; if you deleted or excluded it on purpose, `scratchflow backup --allow-shrink` saves what is left"


class ShrinkGuard(ScratchflowError):
    """The workspace lost more than half since the last snapshot."""

    code = "backup.shrink_guard"
    exit_code = 36
    message = (
        "`{root}` shrank from {before} to {after} since snapshot `{parent}`{lost}{unsaved};"
        " nothing was saved"
    )
    hint = (
        "`scratchflow restore {parent}` brings everything back, and undoes every other change since"
        " (with `--path PATH` it brings back only PATH)" + AGREED_TO_SHRINK
    )


class AutobackupFailed(ScratchflowError):
    """The auto-backup could not be started on the node, or not be ended."""

    code = "autobackup.failed"
    exit_code = 24
    message = "could not switch the auto-backup on `{node}`: {reason}"
    hint = "`{log}` on the cluster has its last words; `scratchflow doctor` checks the rest"
    retryable = True


class AutobackupOfOther(AutobackupFailed):
    """Another profile's job has this workspace, in this store, on this node with other settings, and its auto-backup runs."""

    code = "autobackup.other_profile"
    message = (
        "on `{node}` the auto-backup of profile `{profile}` (job {job_id}) saves workspace `{workspace}` into the same"
        " store, with other settings (`scratch` or `backup`), and a node has only one of them; none of this profile was started"
    )
    hint = (
        "`scratchflow hop` moves to another node, and `up --node NODE` or `--set slurm.nodelist=NODE` takes one in the first"
        " place; `--set workspace=NAME` keeps the two apart; `scratchflow -p {profile} clear` gives job {job_id} back"
    )
    retryable = False


class CloneFailed(ScratchflowError):
    """`git clone` did not work on the node."""

    code = "create.clone_failed"
    exit_code = 40
    message = "cannot clone `{url}` on {host}: {reason}"
    hint = "{next_step}"
