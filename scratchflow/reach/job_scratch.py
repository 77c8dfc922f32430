"""Where a job has its scratch, asked of its node the first time."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from scratchflow.agent.request import asking
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.config.settings import Settings
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.events import Emit
from scratchflow.model.profile import to_plain
from scratchflow.workspace.job_scratch import (
    JobScratch,
    forget_scratch,
    note_scratch,
    noted_scratch,
)
from scratchflow.workspace.path_names import is_of_the_account


def scratch_of_job(
    settings: Settings,
    held: RunningAllocation,
    environment: Mapping[str, str],
    slurm: Slurm,
    emit: Emit,
    *,
    again: bool = False,
) -> str:
    """The path of scratch on the job's node; empty when the profile alone says it on every host.

    `again` asks the node also when it is noted: job numbers come back after Slurm was set up anew.
    """
    written = settings.profile.scratch
    if is_of_the_account(written):
        return ""
    home = Path(environment.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    if again:
        forget_scratch(home, settings.name, held.job_id)
    noted = noted_scratch(home, settings.name, written, held.job_id, held.node)
    if noted:
        return noted
    from scratchflow.reach.node import node_transport
    from scratchflow.reach.node_agent import ask_node

    request = asking("locate", {}, profile_name=settings.name, profile=to_plain(settings.profile))
    node = node_transport(held, settings.name, environment)
    path = str(ask_node(node, request, emit, settings, slurm)["path"])
    found = JobScratch(job_id=held.job_id, node=held.node, written=written, path=path)
    with suppress(OSError):  # a full home costs a question to the node each time
        note_scratch(home, settings.name, found)
    return path
