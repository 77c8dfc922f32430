"""What only the disk of a node has, because its job ended there without a last backup: it is named until that node is had again."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence

from scratchflow.login.status.store import NodeFiles
from scratchflow.model.allocation import Allocation
from scratchflow.model.results.status import ON_FAILED_NODE, Problem
from scratchflow.model.times import epoch
from scratchflow.store.heartbeats import SILENT_S, Heartbeat
from scratchflow.store.nodes import NodeRecord
from scratchflow.workspace.job_scratch import goes_with_job

# Who has not had the node again by then, or needed nothing of it, is not told for ever.
_NAMED_FOR_S = 7 * 86400.0


def had_several_nodes(ended: Allocation) -> bool:
    """Of a job that is being cleaned up Slurm lists the nodes that did not fail."""
    return len(ended.nodes) > (0 if ended.state == "completing" else 1)


def work_on_failed_nodes(
    jobs: Sequence[Allocation],
    held: Allocation | None,
    scratch: str,
    files: NodeFiles | None,
) -> dict[str, Problem]:
    """By node: what was changed since the last snapshot where a node failed under a job, and no later job had it: Slurm knows that for minutes.

    Not where the job never had the workspace, as its notes in the store tell; without `files` nobody knows.
    """
    if goes_with_job(scratch, "", None):
        return {}
    found: dict[str, Problem] = {}
    for job in jobs:
        for node in job.nodes:
            found.pop(node, None)
        is_failed = job.cause == "node_fail" and not had_several_nodes(job)
        if is_failed and job.node and (files is None or _had_workspace(job, files)):
            found[job.node] = _on_its_disk(job.node, "since the last snapshot")
    for node in held.nodes if held else ():
        found.pop(node, None)
    return found


def _had_workspace(job: Allocation, files: NodeFiles) -> bool:
    """Whether its auto-backup began there, or a backup or a restore came to its end."""
    here = (job.node, job.job_id)
    has_whole_copy = any(
        (record.node, record.job_id) == here
        and not (record.restoring and record.restored_by == job.job_id)
        for record in files.records
    )
    return has_whole_copy or any((beat.node, beat.job_id) == here for beat in files.heartbeats)


def left_on_failed_nodes(
    files: NodeFiles, open_jobs: Collection[int | None], named: Collection[str], scratch: str
) -> Iterator[Problem]:
    """The same of jobs that are over and saved no more; `named` are nodes that need no word, and each other gets one."""
    if goes_with_job(scratch, "", None):
        return
    named = {*named}
    for record in files.records:
        if record.node not in named and _was_left_half_restored(record, open_jobs):
            named.add(record.node)
            what = f"a restore of {record.restoring} was cut short with job {record.restored_by}: whatever was changed on"
            yield Problem(
                name=ON_FAILED_NODE,
                detail=f"{what} `{record.node}` since is on its disk alone",
                fix=f"when that node is free, `scratchflow up --node {record.node}`, or `scratchflow hop --node {record.node}`"
                " from another one, saves it as a fork, and brings the workspace",
            )
    for heartbeat in files.heartbeats:
        is_over = heartbeat.job_id is not None and heartbeat.job_id not in open_jobs
        if not is_over or heartbeat.node in named or not _fell_silent(heartbeat):
            continue
        if _was_saved_since(files, heartbeat):
            continue
        named.add(heartbeat.node)
        since = f"since {heartbeat.last_time}" if heartbeat.last_time else "since the last snapshot"
        yield _on_its_disk(
            heartbeat.node, since, f"job {heartbeat.job_id} ended without a last backup: "
        )


def _was_left_half_restored(record: NodeRecord, open_jobs: Collection[int | None]) -> bool:
    """No auto-backup saves such a copy, not even at its end."""
    noted_s = epoch(record.time)
    is_over = record.restored_by is not None and record.restored_by not in open_jobs
    is_old = noted_s is None or time.time() - noted_s >= _NAMED_FOR_S
    return is_over and bool(record.restoring) and not is_old


def _fell_silent(heartbeat: Heartbeat) -> bool:
    beaten_s = epoch(heartbeat.time)
    if beaten_s is None or heartbeat.phase == "ended" or heartbeat.workspace_exists is False:
        return False
    return SILENT_S < time.time() - beaten_s < _NAMED_FOR_S


def _was_saved_since(files: NodeFiles, heartbeat: Heartbeat) -> bool:
    """Whether a command of the same job, `clear` say, saved the copy after the auto-backup was last heard of."""
    return any(
        record.node == heartbeat.node
        and record.is_of(heartbeat.job_id, heartbeat.job_name)
        and record.time > heartbeat.time
        for record in files.records
    )


def _on_its_disk(node: str, since: str, why: str = "") -> Problem:
    return Problem(
        name=ON_FAILED_NODE,
        detail=f"{why}whatever was changed on `{node}` {since} is on its disk alone",
        fix=f"when that node is free, `scratchflow up --node {node}`, or `scratchflow hop --node {node}` from another"
        " one, takes it up; where work went on meanwhile, it saves it as a fork",
    )
