"""`hop`: from one node or one cluster to the next."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class HopToItself(ScratchflowError):
    """The profile to move to is the one that is left."""

    code = "hop.same_profile"
    exit_code = 2
    message = "`--to {profile}` is where the work is already"
    hint = "`scratchflow hop` alone moves to another node of the same cluster; `scratchflow profiles list` shows the others"


class HopUnfinished(ScratchflowError):
    """The new node does not hold what the old one had, so the old one is kept."""

    code = "hop.unfinished"
    exit_code = 37
    message = "the move is not finished, and `{node}` is still ours: {reason}"
    hint = (
        "`scratchflow hop` goes on from here; `scratchflow snapshots verify` checks the snapshots"
    )
    retryable = True


class HopUnderWay(ScratchflowError):
    """While `hop` moves, the workspace is not on the next node yet."""

    code = "hop.under_way"
    exit_code = 30
    message = (
        "a move from `{old_node}` to `{node}` (job {job_id}) is under way, and the workspace is not there yet; "
        "`hop` saves what is on `{old_node}`"
    )
    hint = "run it again when that `scratchflow hop` is done; one that was cut short is finished by `scratchflow hop`"
    retryable = True


class HopCutShort(ScratchflowError):
    """The old node went in the middle of a move; the next one is held. Exits with the code of what happened."""

    code = "hop.cut_short"
    exit_code = 23
    message = (
        "the move was cut short: {reason}; job {job_id} on `{node}`, taken for it, is still held"
    )
    hint = (
        "`scratchflow up` goes on there with the newest snapshot, `scratchflow clear` gives it back"
    )

    @classmethod
    def because_of(cls, error: ScratchflowError, job_id: int | None, node: str) -> HopCutShort:
        """With the reason and its exit code."""
        failed = cls(reason=error, job_id=job_id, node=node)
        failed.exit_code = error.exit_code
        return failed


class NextNodeLost(ScratchflowError):
    """The next node went in the middle of a move; the old one is held. Exits with the code of what happened."""

    code = "hop.next_node_lost"
    exit_code = 23
    message = "the move was cut short: {reason}; job {job_id} still holds `{node}`, with the workspace as it was"
    hint = "`scratchflow hop` tries again, `scratchflow up` goes on working there"

    @classmethod
    def because_of(cls, error: ScratchflowError, job_id: int, node: str) -> NextNodeLost:
        """With the reason and its exit code."""
        failed = cls(reason=error, job_id=job_id, node=node)
        failed.exit_code = error.exit_code
        return failed


class NextNodeSilent(ScratchflowError):
    """The next node does not answer in the middle of a move, though Slurm has not given it up; the old one is held, too."""

    code = "hop.next_node_silent"
    exit_code = 24
    message = (
        "the move was cut short: {reason}; the workspace is on `{old_node}` (job {old_job}), as it was,"
        " and that node is still held"
    )
    hint = (
        "go on working on `{old_node}`, or try `scratchflow hop` again. If `{node}` never answers: `scancel {job_id}` on the"
        " login host gives back that node alone, and `scratchflow hop` then takes another one"
    )
    retryable = True


class WorkDiverged(ScratchflowError):
    """Both nodes have work that the other one lacks; neither is overwritten."""

    code = "hop.diverged"
    exit_code = 37
    message = "work went on at `{node}` from snapshot {snapshot}, and elsewhere up to {other}"
    hint = "both are kept; `scratchflow backup`, then `scratchflow restore {other}` takes the other one over"


class DamagedThere(ScratchflowError):
    """The snapshot was copied, and cannot be read in the store of the other cluster; the node here is kept."""

    code = "hop.damaged_there"
    exit_code = 31
    message = "in the store of `{to}`, {reason}; the node of `{source}` is kept"
    hint = (
        "`scratchflow -p {to} snapshots verify` finds what is damaged there; then `scratchflow -p {source} hop --to {to}` sends it"
        " again from the store of `{source}`, and goes on"
    )


class NameTakenThere(HopUnfinished):
    """The snapshot cannot be copied: the store of the other cluster has another archive under its name, or a damaged one."""

    code = "hop.name_taken"
    message = "the move is not finished, and the node of `{source}` is kept: the store of `{to}` has another archive under the name of snapshot {snapshot}, or a damaged one"
    hint = (
        "`scratchflow -p {source} backup --full` takes a snapshot that needs no other archive, and `scratchflow -p {source} hop --to {to}`"
        " then goes on with that"
    )
    retryable = False


class ClustersDiverged(ScratchflowError):
    """Both clusters have work that the other one lacks; neither is overwritten, and both nodes stay held."""

    code = "hop.clusters_diverged"
    exit_code = 37
    message = "work went on at both since they parted: at `{to}`, and at `{source}` up to snapshot {other}"
    hint = (
        "both are kept. To go on with the work of `{source}`: `scratchflow -p {to} backup`, then `scratchflow -p {to} restore {other}`,"
        " then `scratchflow -p {source} hop --to {to}` again. To go on with the work of `{to}`: `scratchflow -p {source} clear` gives"
        " the node there back; its work stays as snapshot {other} in both stores"
    )


class WouldDiverge(ClustersDiverged):
    """What a dry run says where the move would end with ClustersDiverged: nothing is in both stores yet."""

    code = "hop.would_diverge"
    message = f"{ClustersDiverged.message}; nothing was copied or restored"
    hint = (
        "both are kept. To go on with the work of `{source}`: `scratchflow -p {source} snapshots copy {other} --to {to}`, then,"
        " where a node of `{to}` is held, `scratchflow -p {to} restore {other}`, then `scratchflow -p {source} hop --to {to}` again;"
        " that of `{to}` stays there as a snapshot. To go on with the work of `{to}`:"
        " `scratchflow -p {source} clear`, then `scratchflow -p {to} up`"
    )


class OtherWorkThere(WouldDiverge):
    """The store of the other cluster has newer work that this one does not know; nothing was copied over it."""

    code = "hop.other_work"
    message = (
        "work went on at both since they parted: at `{to}` up to snapshot {theirs}, and at `{source}` up to snapshot {other};"
        " nothing was copied or restored"
    )


class UnsavedWouldDiverge(ClustersDiverged):
    """What a dry run says where the work here is in no snapshot yet: none can be named that would be gone on with."""

    code = "hop.unsaved_would_diverge"
    message = (
        "work went on at both since they parted: at `{to}`, and at `{source}`, where it is not saved yet;"
        " nothing was copied or restored"
    )
    hint = (
        "`scratchflow -p {source} backup` saves it; `scratchflow -p {source} hop --to {to} --dry-run` then says"
        " how to go on with the one or the other"
    )
