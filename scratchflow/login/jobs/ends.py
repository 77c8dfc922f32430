"""How a task ended, in words, with what to do about it. Pure: from the record and what Slurm said."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from itertools import chain

from scratchflow.model.job import GONE, SAVED_ONCE, JobRecord, SlurmTask, TaskRecord
from scratchflow.model.time_limit import in_minutes, slurm_time, time_limit_s
from scratchflow.model.units import format_size, parse_size

SIGNAL_CODE = 128


def why(
    record: JobRecord,
    task: int,
    state: str,
    own: TaskRecord | None,
    said: SlurmTask | None,
    *,
    is_damaged: bool = False,
) -> str:
    """Empty for a task that ended well or has not ended. `is_damaged`: its own record is there and cannot be read."""
    if state == "FAILED" and not is_damaged and has_not_begun(own):
        rerun = f"`scratchflow jobs rerun {name_of(record, task)}`"
        return f"the command was not run: {_before_it_began(record, own, said, rerun)}"
    if state == "FAILED" and is_unlaunched_again(own, said):
        rerun = f"`scratchflow jobs rerun {name_of(record, task)}`"
        return f"it was queued again, and that run was not begun: {_before_it_began(record, own, said, rerun)}"
    if own is not None and state in {"FAILED", "COMPLETED"} and (words := _own_words(own)):
        return words
    return "" if state in _NOTHING_TO_SAY else _why(record, task, state, own, said)


_NOTHING_TO_SAY = {"COMPLETED", "RUNNING", "PENDING"}


def _why(
    record: JobRecord, task: int, state: str, own: TaskRecord | None, said: SlurmTask | None
) -> str:
    rerun = f"`scratchflow jobs rerun {name_of(record, task)}`"
    logs = f"`scratchflow logs {name_of(record, task)}`"
    if state == "OUT_OF_MEMORY":
        return f"it ran out of memory{_memory(record, said, rerun)}"
    if state == "TIMEOUT":
        return _timeout(record, own, rerun)
    if state == "CANCELLED":
        by = f" by {said.cancelled_by}" if said and said.cancelled_by else ""
        waited = ""
        if own is not None and is_cancelled_before_another_run(own, said):
            on = f" on `{own.node}`" if own.node else ""
            waited = f" while it waited for another run: after the one{on} it was queued again"
        return f"it was cancelled{by}{waited}; {rerun} runs it again from the same snapshot"
    if state == "FAILED" and own is not None and own.code is None and own.phase != "ended":
        return _without_an_end(own, logs)
    if state == "FAILED":
        return f"{_code(own, said)}; {logs} shows what it printed"
    return _OTHERS.get(state, "").format(rerun=rerun)


def _without_an_end(own: TaskRecord, logs: str) -> str:
    if own.put_back:
        return f"how it ended is not known: its record was gone from the store, and was put back from its copy on `{own.node}`"
    return (
        f"it could write no word of its end, as when the store is full, or away on `{own.node}`,"
        f" and what it printed last may be missing, too; {logs} shows what was written"
    )


_OTHERS = {
    "NODE_FAIL": "its node failed; {rerun} runs it again from the same snapshot",
    "BOOT_FAIL": "its node did not boot; {rerun} runs it again from the same snapshot",
    "PREEMPTED": "a job of higher priority took its place; {rerun} runs it again from the same snapshot",
    "DEADLINE": "its deadline had passed before it could end",
    "NOT_SUBMITTED": "Slurm never got it; {rerun} submits it",
    "SUBMITTING": "Slurm's answer was lost; whether it has the job shows in a few minutes",
    "FORGOTTEN": "Slurm no longer knows it, and it left no word; {rerun} runs it again",
    "UNKNOWN": "Slurm does not answer, so its state is not known",
}


def has_not_begun(own: TaskRecord | None) -> bool:
    """Whether the job ended before its command could begin, and nobody has written down why: it writes when it begins."""
    return own is None or (own.phase == "restoring" and own.code is None)


def is_unlaunched_again(own: TaskRecord | None, said: SlurmTask | None) -> bool:
    """Whether the record is of an earlier run, and Slurm could not start the last one: that wrote nothing."""
    if own is None or said is None or own.phase == "ended" or own.code is not None:
        return False
    return said.reason == _NOT_LAUNCHED or _has_no_output(said)


def is_cancelled_before_another_run(own: TaskRecord | None, said: SlurmTask | None) -> bool:
    """Whether the record is of an earlier run, and the task was cancelled in the queue: there it has no node."""
    return own is not None and said is not None and said.state == "CANCELLED" and not said.node


def _has_no_output(said: SlurmTask) -> bool:
    return said.reason.startswith(f"RaisedSignal:{_NO_OUTPUT}") or said.signal == _NO_OUTPUT


_NO_OUTPUT = 53
"""The signal that Slurm names when it cannot open the files that a job prints to."""
_NOT_LAUNCHED = "JobLaunchFailure"
_SAYS_NOTHING = {"", "None", "NonZeroExitCode"}


def _before_it_began(
    record: JobRecord, own: TaskRecord | None, said: SlurmTask | None, rerun: str
) -> str:
    again = f"{rerun} runs it again"
    reason = said.reason if said else ""
    node = (said.node if said else "") or (own.node if own else "")
    away = f", as when the store is away on `{node}`" if node else ""
    if said and _has_no_output(said):
        return f"Slurm could not open the files that it prints to{away}; {again}"
    if reason == _NOT_LAUNCHED and node:
        return f"Slurm could not launch the job on `{node}` ({reason}){away}; {again}"
    if reason not in _SAYS_NOTHING:
        from scratchflow.cluster.slurm.reasons import explain  # few jobs end so

        return f"Slurm could not start the job: {explain(reason).text}; {rerun} with other resources submits it again"
    if not node:
        return (
            "Slurm could not start the job, as when the nodes and the partition it asks for do not fit;"
            f" {rerun} with other resources submits it again"
        )
    log = f"`jobs/{record.id}/logs/agent.jsonl` in the store may say more"
    return f"the job ended before that{away}; {log}, {again}"


def rest_of(own: TaskRecord | None, *, waits: bool = False) -> str:
    """Where that is which a task that is over has made and which is not saved, and how it gets home; empty when all is.

    `waits`: it is in the queue for its next run. Until that runs, nobody else saves what the last one left.
    """
    if own is None:
        return ""
    if own.is_gone and not own.unsaved_on:
        return f"{GONE}; if it was moved, it is still on `{own.node}`, and only you know where: no job saves it"
    if own.has_lost and not own.is_gone:
        return (
            f"what was not saved is lost: it was in `{own.directory}`, which is removed with the job, as `$SLURM_TMPDIR` is."
            " To avoid it, keep room in the store and files readable, or let the command write to shared storage itself"
        )
    if not own.unsaved_on:
        return ""
    what = "what it made last may still be"
    if own.not_collected or all(own.unsaved_lines.values()):
        what = "what is not saved is still"
    elif not {own.node, *own.further_nodes} & {*own.unsaved_on}:
        what = "what an earlier run of it made last may still be"
    if waits and own.node in own.unsaved_on:
        return (
            f"{what} on {in_words(own.unsaved_on)}; its next run saves it if that starts there. Elsewhere it begins without"
            f" it, and once it runs, the next job on `{own.node}` saves it, such as {_submit_on(own.node, 'true')}"
        )
    return f"{what} on {in_words(own.unsaved_on)}; {way_home(own)}"


def way_home(own: TaskRecord) -> str:
    """How that gets into the store which a task has left on nodes. The next job opens directories, but no files that it may not read."""
    nodes = own.unsaved_on
    where = "there" if len(nodes) == 1 else "on each of them"
    saves = f"the next job {where} saves it, such as {_submit_on(nodes[0], 'true')}"
    if any(_nodes_where(own, reason) for reason in (errno.ENOSPC, errno.EDQUOT)):
        saves = f"once the store has room for it, {saves}"
    if misplaced := _misplaced(own):
        return f"{misplaced}, {saves}"
    closed = _nodes_where(own, errno.EACCES)
    too_long = _nodes_where(own, errno.ENAMETOOLONG)
    if too_long:
        return (
            f"some of it has paths that are longer than the store takes: it is in `{own.directory}` on {in_words(too_long)};"
            f" once it has shorter names there, {saves}"
        )
    if not closed:
        return saves
    import shlex  # few jobs have such files

    # Those alone: a changed mode makes a file look like the job's work that is in the snapshot.
    command = f"find {shlex.quote(own.directory)} -not -perm -u+r -exec chmod u+r {{}} +"
    opens = _submit_on(closed[0], command)
    on_each = f", and likewise on {in_words(closed[1:])}" if closed[1:] else ""
    return (
        f"some of it cannot be read: it is in `{own.directory}` on {in_words(closed)},"
        f" and {opens} changes that{on_each}; then {saves}"
    )


def _misplaced(own: TaskRecord) -> str:
    """What has to have its name again before anybody can save it; empty when nothing has."""
    for line in chain.from_iterable(own.unsaved_lines.values()):
        what, found, path = line.partition(SAVED_ONCE)
        if found:
            name, _, reason = what.partition(": ")
            return f"some of it is in `{name}`: {reason}; once that is {path}"
    return ""


def goes_unsaved(nodes: Sequence[str]) -> str:
    """What becomes of that which lies on nodes when it is given up."""
    where = "there" if len(nodes) == 1 else "on each of them"
    return (
        f"what is not saved of it on {in_words(nodes)} is given up:"
        f" the next job {where} removes it, such as {_submit_on(nodes[0], 'true')}"
    )


def _nodes_where(own: TaskRecord, reason: int) -> list[str]:
    """The nodes where something could not be saved for this reason; a store that takes nothing says another."""
    ending, of_directory = f": {os.strerror(reason)}", f"/: {os.strerror(errno.EACCES)}"
    return [
        node
        for node, lines in own.unsaved_lines.items()
        if any(line.endswith(ending) and not line.endswith(of_directory) for line in lines)
    ]


def _submit_on(node: str, command: str) -> str:
    return f"`scratchflow submit --sbatch=--nodelist={node} -- {command}`"


def in_words(nodes: Sequence[str]) -> str:
    """`a` and `b`."""
    return " and ".join(f"`{node}`" for node in nodes)


def name_of(record: JobRecord, task: int | None = None) -> str:
    """What people and `scancel` call the task, or the job as a whole."""
    number = str(record.number or record.id)
    return f"{number}_{task}" if record.is_array and task is not None else number


def _own_words(own: TaskRecord) -> str:
    """What only the task itself knows."""
    if own.error and own.code is None:
        return f"the command was not run: {own.error}"
    if own.error:
        return f"the command ended with {own.code}, and then: {own.error}"
    if own.not_continued:
        return f"its time limit was near, and it did not go on in another run: {own.not_continued}"
    return ""


def _timeout(record: JobRecord, own: TaskRecord | None, rerun: str) -> str:
    if own is None or own.code is None or own.phase == "ended":
        return f"its time limit was reached{_longer(record, rerun)}"
    return f"the command ended with {own.code}; its time limit was reached while what it made was saved"


def _code(own: TaskRecord | None, said: SlurmTask | None) -> str:
    code = own.code if own is not None and own.code is not None else said.code if said else None
    if code is None:
        return "it failed"
    if code > SIGNAL_CODE:
        return f"it was ended by signal {code - SIGNAL_CODE}"
    return f"exit code {code}"


def _memory(record: JobRecord, said: SlurmTask | None, rerun: str) -> str:
    # Before 21.08 accounting wrote `4Gn` for 4G on each node.
    asked = str(record.slurm.get("mem") or (said.asked_memory.removesuffix("n") if said else ""))
    used = said.peak_memory_bytes if said else None
    parts = [f"asked for {asked}"] if asked else []
    parts += [f"used {format_size(used)} at the end"] if used else []
    memory = f": {', '.join(parts)}" if parts else ""
    try:
        size = parse_size(asked)
    except ValueError:
        size = 0
    if not size:  # `--mem 0` is all that the node has
        return f"{memory}; {rerun} with a larger `--mem` runs it again"
    gigabytes = max(1, -(-2 * size // 1024**3))
    return f"{memory}; {rerun.rstrip('`')} --mem {gigabytes}G` gives it more"


def _longer(record: JobRecord, rerun: str) -> str:
    limit = str(record.slurm.get("time") or record.script_slurm.get("time") or "")
    seconds = time_limit_s(limit) if limit else None
    if not seconds:
        return f"; {rerun} with a longer `--time` runs it again"
    twice = f"{rerun.rstrip('`')} --time {slurm_time(2 * seconds)}`"
    return f" ({in_minutes(limit)}); {twice} gives it twice as long"
