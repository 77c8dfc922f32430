"""The job that holds the node, its nodes, and giving them back."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class AllocationPending(ScratchflowError):
    """The request was still waiting when the wait limit was reached."""

    code = "allocation.pending"
    exit_code = 21
    message = "job {job_id} was still waiting after {waited}: {reason}"
    hint = "{next_step}"
    retryable = True


class AllocationRefused(ScratchflowError):
    """Slurm will never grant this request."""

    code = "allocation.refused"
    exit_code = 22
    message = "Slurm refused the request: {reason}"
    hint = "{next_step}; `scratchflow nodes` shows what there is"

    @classmethod
    def of_profile(cls, *, reason: str, profile: str) -> AllocationRefused:
        """Without a word about which part of the request it was."""
        return cls(
            reason=reason, next_step=f"change the request under `[profiles.{profile}.slurm]`"
        )


class AllocationEnded(ScratchflowError):
    """The allocation was revoked, cancelled or ran out of time."""

    code = "allocation.ended"
    exit_code = 23
    message = "job {job_id} has ended: {reason}"
    hint = "`scratchflow up` takes another node and brings the last snapshot back"


class NodeFailed(ScratchflowError):
    """The compute node died or does not answer."""

    code = "node.failed"
    exit_code = 24
    message = "node `{node}` failed: {reason}"
    hint = "`scratchflow up` takes another node and brings the last snapshot back"
    retryable = True


class NodeSilent(ScratchflowError):
    """The node that is held does not answer, though Slurm has not given it up."""

    code = "node.silent"
    exit_code = 24
    message = "node `{node}` is still ours (job {job_id}), but gave no answer: {reason}"
    hint = (
        "try again; `scratchflow doctor` looks at the node. Only if it never answers: `scancel {job_id}` on the login host "
        "gives up that node alone, with what was not saved there, and `scratchflow up` goes on with another one"
    )
    retryable = True


class NodeUnknown(ScratchflowError):
    """The cluster has no node of the name that was asked for, or several that could be meant."""

    code = "node.unknown"
    exit_code = 22
    message = "{problem}"
    hint = "`scratchflow nodes` lists them"


class NodeNotOfJob(ScratchflowError):
    """The allocation has no node of the name or number that was asked for."""

    code = "node.not_of_job"
    exit_code = 22
    message = "`{node}` is no node of job {job_id}, which has {nodes}"
    hint = "name one of them, or its number: `2` is the second"


class OtherNodeFailed(ScratchflowError):
    """Something failed on a further node of the allocation; exits with the code of that."""

    code = "node.other_failed"
    exit_code = 24
    message = "on `{node}`: {reason}"
    hint = "{next_step}"

    @classmethod
    def because_of(cls, node: str, error: ScratchflowError) -> OtherNodeFailed:
        """With the reason, its hint and its exit code."""
        failed = cls(node=node, reason=error, next_step=error.shown_hint)
        failed.exit_code = error.exit_code
        failed.retryable = error.retryable
        return failed


class AllocationMissing(ScratchflowError):
    """The command needs a node and there is none."""

    code = "allocation.missing"
    exit_code = 25
    message = 'there is no allocation for profile "{profile}"'
    hint = "`scratchflow up` takes a node and brings the workspace there"


class AllocationWaiting(AllocationMissing):
    """The command needs a node, and the request for one still waits in the queue."""

    code = "allocation.waiting"
    message = "job {job_id} is still waiting for a node{why}"
    hint = (
        "`scratchflow up` waits for it, and brings the workspace there; `scratchflow status` shows when it"
        " may start; `scratchflow clear --pending` withdraws it"
    )
    retryable = True

    @classmethod
    def of_job(cls, job_id: int | None, reason: str) -> AllocationWaiting:
        """With Slurm's reason in words, if it gives one."""
        return cls(job_id=job_id, why=f": {reason}" if reason else "")


class AllocationSuspended(ScratchflowError):
    """The node is ours, but Slurm has stopped everything on it for a while."""

    code = "allocation.suspended"
    exit_code = 24
    message = "job {job_id} on `{node}` is suspended: nothing can run there now"
    hint = "it goes on when Slurm lets it; `scratchflow clear --no-backup` gives it back as it is"
    retryable = True


class AllocationLingers(ScratchflowError):
    """Slurm took the order to end the job, and has not done it yet."""

    code = "allocation.lingers"
    exit_code = 20
    message = "job {job_id} was cancelled, but Slurm has not ended it yet"
    hint = "`scratchflow status` shows when it is gone; `scratchflow clear` does the rest"
    retryable = True


class AllocationHeld(ScratchflowError):
    """What is to be taken away is still in use."""

    code = "allocation.held"
    exit_code = 22
    message = "job {job_id} still holds `{node}`"
    # With the profile always: the default one may hold another node.
    hint = "`scratchflow -p {profile} clear` saves the workspace and gives the node back first"


class HeldOutOfReach(ScratchflowError):
    """What is to be taken away leads to a node, and nobody can be asked whether that is still held."""

    code = "allocation.out_of_reach"
    exit_code = 22
    message = "`{node}` of profile `{profile}` was held when this machine last heard of it, and `{login}` gives no answer: {reason}; nothing was removed"
    hint = (
        "try again when it answers; if that cluster is gone for good, `scratchflow profiles remove {profile}`"
        " takes the profile and its alias away first"
    )


class AllocationElsewhere(ScratchflowError):
    """The profile holds another node than the one that was asked for."""

    code = "allocation.elsewhere"
    exit_code = 22
    message = "job {job_id} holds `{node}`, not `{wanted}`"
    hint = "{next_step}"


class FinalBackupFailed(ScratchflowError):
    """The node is not given back, because its workspace could not be saved; exits with that code."""

    code = "clear.backup_failed"
    exit_code = 24
    message = "the last backup failed, so the node stays ours: {reason}"
    hint = "{next_step}; `scratchflow clear --no-backup` gives it back without"

    @classmethod
    def because_of(
        cls, error: ScratchflowError, job: int | None = None, *, is_only: bool = True
    ) -> FinalBackupFailed:
        """With the reason, its hint and its exit code. Of several jobs, the way without a backup is that of this one alone."""
        failed = cls(reason=error, next_step=error.shown_hint)
        if any(way in error.shown_hint for way in ("clear --no-backup", "scancel")):
            failed._agent_hint = error.shown_hint  # it says so itself, and when
        elif not is_only:
            alone = f"`scancel {job}` on the login host gives back that node alone, without"
            failed._agent_hint = f"{error.shown_hint}; {alone}"
        failed.exit_code = error.exit_code
        failed.retryable = error.retryable
        return failed

    @classmethod
    def in_a_move(cls, error: ScratchflowError, node: str, job: int | None) -> FinalBackupFailed:
        """Of the node that a `hop` had begun to fill: commands go to the other one, so that `restore` would change that."""
        failed = cls(reason=f"on `{node}` (job {job}), {error}", next_step="")
        failed._agent_hint = (
            "`scratchflow hop` finishes the move, and `clear` gives both nodes back then;"
            f" `scancel {job}` on the login host gives back that node alone, with what is there"
        )
        failed.exit_code = error.exit_code
        return failed


class SeveralHeld(ScratchflowError):
    """Without a backup only one node is given back: of several, one has the work."""

    code = "clear.several_held"
    exit_code = 22
    message = "nothing was given back: several nodes are held, {held}; commands go to `{node}`"
    hint = (
        "`scratchflow clear` saves and gives back all of them. Without a backup: `scancel JOB` on the login host gives back"
        " that job's node alone, with what was not saved there"
    )


class NodeNotSaved(ScratchflowError):
    """The node is not given back, because files on it are in no snapshot."""

    code = "release.not_saved"
    exit_code = 35
    message = "`{node}` is still ours: no snapshot holds {count} on it: {paths}"
    hint = "{ways}; then run it again. `scratchflow {verb} --leave-behind` gives the node back without them"
