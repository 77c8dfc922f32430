"""The auto-backup of another profile's job that has this workspace on this node in the same store: there can be one alone."""

from __future__ import annotations

import time

from scratchflow.cluster.slurm.request import profile_of
from scratchflow.model.errors.workspace import AutobackupOfOther
from scratchflow.node.autobackup.settings import saves_the_same
from scratchflow.node.autobackup.signals import is_agent
from scratchflow.node.context import NodeContext
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.heartbeats import Heartbeat, is_alive, read_heartbeat


def beats_for_other_profile(
    place: StoreDirectory, node: str, job_id: int, profile: str
) -> Heartbeat | None:
    """The last heartbeat there, if it is recent and of a job of another profile."""
    life = read_heartbeat(place, node)
    if life is None or life.phase == "ended" or life.job_id in {None, job_id}:
        return None
    if profile_of(life.job_name) in {None, profile} or is_alive(life, time.time()) is False:
        return None
    return life


def refuse_beside_other_profile(context: NodeContext) -> None:
    """AutobackupOfOther while one with other settings runs on this node: both would keep their heartbeats in one file."""
    if context.job_id is None:
        return
    place = find_place(context.store, context.workspace.name)
    life = beats_for_other_profile(place, context.node, context.job_id, context.settings.name)
    if life is None or saves_the_same(context.profile, life.settings) or not is_agent(life.pid):
        return
    raise other_profile_there(life, context.workspace.name)


def other_profile_there(life: Heartbeat, workspace: str) -> AutobackupOfOther:
    """The error that names whose auto-backup is there."""
    profile = profile_of(life.job_name) or "?"
    return AutobackupOfOther(
        node=life.node, profile=profile, job_id=life.job_id, workspace=workspace
    )
