"""`server list`, on the login host: which servers run, as Slurm or their machine says."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import RunningAllocation, with_node
from scratchflow.model.requests import Nothing
from scratchflow.model.results.serve import ServersSeen
from scratchflow.model.results.status import ServerShown
from scratchflow.reach.lasting_agent import AgentAt
from scratchflow.workspace.servers import ServerRecord, forget_server, read_servers

KILLED = "it was killed"


def list_servers(login: LoginHost, _: Nothing) -> ServersSeen:
    """All of the profile, with those that ended by themselves while their job goes on."""
    found = servers_on(login)
    return ServersSeen(
        servers=[shown(record) for record in found],
        pages={record.name: record.page for record in found},
        tokens={record.name: record.token for record in found if record.token},
    )


def servers_on(
    login: LoginHost, jobs: Sequence[RunningAllocation] | None = None
) -> list[ServerRecord]:
    """The records as they are true now. Those of jobs that have ended are removed."""
    records = read_servers(login.home, login.settings.name)
    if not records:
        return []
    held = held_jobs(login) if jobs is None else jobs
    return [now for record in records if (now := _as_it_is(login, record, held)) is not None]


def held_jobs(login: LoginHost) -> list[RunningAllocation]:
    """The profile's jobs that hold a node; none without a scheduler."""
    if login.profile.scheduler == "none":
        return []
    return with_node(our_jobs(login.slurm, login.settings.name))


def agent_of(
    login: LoginHost, record: ServerRecord, jobs: Sequence[RunningAllocation]
) -> AgentAt | None:
    """What looks after the server on its node; None when its job has ended."""
    held = next((job for job in jobs if job.job_id == record.job_id), None)
    if held is not None and record.node in held.nodes:
        held = held.on(record.node)
    if held is None and (record.job_id is not None or login.profile.scheduler != "none"):
        return None
    name, environment = login.settings.name, login.environment
    return AgentAt(held, name, environment, step_id=record.step_id, pid=record.pid)


def _as_it_is(
    login: LoginHost, record: ServerRecord, jobs: Sequence[RunningAllocation]
) -> ServerRecord | None:
    if record.ended or not record.node:  # it told its end, or is being started
        is_over = record.job_id is not None and agent_of(login, record, jobs) is None
        if is_over:
            forget_server(login.home, record, login.settings.name)
        return None if is_over or not record.node else record
    agent = agent_of(login, record, jobs)
    if agent is None:
        forget_server(login.home, record, login.settings.name)
        return None
    if agent.runs() is False:
        return _ended(login, record)
    return record


def _ended(login: LoginHost, record: ServerRecord) -> ServerRecord:
    """It was killed, or has told its end since it was read."""
    import msgspec

    from scratchflow.workspace.servers import read_server

    now = read_server(login.home, login.settings.name, record.name)
    if now is not None and now.start == record.start and now.ended:
        return now
    return msgspec.structs.replace(record, ended=KILLED)


def shown(record: ServerRecord) -> ServerShown:
    """The record for people and programs, without its token."""
    return ServerShown(
        name=record.name,
        kind=record.kind,
        node=record.node,
        job_id=record.job_id,
        socket=record.socket,
        port=record.port,
        log=record.log,
        shows=" ".join(record.words[:1]) if record.kind == "tensorboard" else "",
        ended=record.ended,
    )
