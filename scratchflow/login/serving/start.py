"""`server start`, on the login host: a server started as a step of the job, and left when it answers."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress

import msgspec

from scratchflow.agent.request import asking, encode
from scratchflow.agent.stream import Garbled, as_error, parse_line
from scratchflow.cluster.slurm.lasting_step import LastingStep
from scratchflow.login.autobackup.running import HeldNode, held_node
from scratchflow.login.host import LoginHost
from scratchflow.login.serving.look import held_jobs, servers_on, shown
from scratchflow.login.serving.stop import end_server
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.serve import ServerMissing, ServerStuck, ServerTaken
from scratchflow.model.events import Event, Failure, Progress, Status
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import RunServer, StartServer
from scratchflow.model.results.serve import ServerStarted
from scratchflow.process.waiting import looks
from scratchflow.reach.installing import install_for
from scratchflow.reach.lasting_agent import start_here, start_on_node
from scratchflow.reach.node_agent import require_running
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.workspace.servers import (
    Listening,
    ServerRecord,
    answering,
    claim_server,
    forget_server,
    name_for,
    read_server,
    write_server,
)

START_S = 180.0
"""How long until it answers, or has said why it does not: the node gives it two minutes of that."""
_LOOK_S = 0.1
_MOST_OF_A_NAME = 20


def start_server(login: LoginHost, asked: StartServer) -> ServerStarted:
    """The server, running. One that runs with the same words already is as good, unless it is to move."""
    held = held_node(login, asked.job_id)
    known = {record.name: record for record in servers_on(login)}
    moved = known.get(asked.name) if asked.job_id is not None else None
    if asked.job_id is not None and moved is None:
        raise ServerMissing(name=asked.name)
    if moved is not None:
        asked = msgspec.structs.replace(asked, kind=moved.kind, words=moved.words, cwd=moved.cwd)
    name = asked.name if moved else _name(asked, known)
    running = known.get(name)
    if running is not None and not moved and not running.ended:
        if not _is_the_same(running, asked):
            raise ServerTaken(name=name, node=running.node)
        return _started(running, changed=False)
    record = ServerRecord(
        name=name,
        kind=asked.kind,
        words=asked.words,
        cwd=asked.cwd,
        start=secrets.token_hex(8),
        since=time.time(),
        job_id=held.job_id,
        # The same after a move, so that pages that are open in a browser go on.
        token=_token(asked, running),
    )
    if asked.dry_run:
        planned = msgspec.structs.replace(record, node=held.node, token="")
        return msgspec.structs.replace(_started(planned), dry_run=True)
    if running is not None and running.ended and not moved:
        forget_server(login.home, running, login.settings.name)
    if not moved and not claim_server(login.home, login.settings.name, record):
        _make_way(login, record)
    return _started(_start(login, held, record, keeps=moved))


def _name(asked: StartServer, known: dict[str, ServerRecord]) -> str:
    """As asked for; else after the program, with a number when another program has that name."""
    if asked.name:
        return asked.name
    stem = asked.kind if asked.kind != "command" else name_for(asked.words[0])
    stem = stem[:_MOST_OF_A_NAME]
    numbered = (f"{stem}-{number}" for number in range(2, 1000))
    for name in (stem, *numbered):
        running = known.get(name)
        if running is None or running.ended or _is_the_same(running, asked):
            return name
    raise ServerTaken(name=stem, node=known[stem].node)


def _is_the_same(running: ServerRecord, asked: StartServer) -> bool:
    return (running.kind, running.words, running.cwd) == (asked.kind, asked.words, asked.cwd)


def _token(asked: StartServer, before: ServerRecord | None) -> str:
    if asked.kind != "jupyter":
        return ""
    return (before.token if before else "") or secrets.token_urlsafe(32)


def _make_way(login: LoginHost, record: ServerRecord) -> None:
    """Of two that start at once the later one is told; a record that a killed start left is taken over."""
    there = read_server(login.home, login.settings.name, record.name)
    is_young = there is not None and record.since - there.since < START_S
    if there is not None and not there.node and is_young and there.job_id == record.job_id:
        reason = "another command is starting it right now"
        raise ServerStuck(name=record.name, node=os.uname().nodename, reason=reason)
    write_server(login.home, login.settings.name, record)


def _start(
    login: LoginHost, held: HeldNode, record: ServerRecord, *, keeps: ServerRecord | None
) -> ServerRecord:
    """Starts it; its record says so when it answers. `keeps` is the one before, which is ended only then."""
    login.emit(Progress(phase=f"starting {record.name}"))
    try:
        step = _begin(login, held, record)
        listening = _first_sign(login, step, held, record)
    except BaseException:
        if keeps is None:
            forget_server(login.home, record, login.settings.name)
        raise
    started = answering(record, listening)
    # First the record: a tunnel that loses the one before looks there for the new one.
    write_server(login.home, login.settings.name, started)
    if keeps is not None:
        with suppress(ScratchflowError):  # it ends with its job at the latest
            end_server(login, keeps, held_jobs(login))
    _warn_of_the_port(login, listening)
    _warn_of_silence(login, record.name, listening)
    _warn_of_missing_logs(login, record.name, listening)
    return started


def _begin(login: LoginHost, held: HeldNode, record: ServerRecord) -> LastingStep:
    arguments = RunServer(
        name=record.name,
        kind=record.kind,
        words=record.words,
        cwd=record.cwd,
        start=record.start,
        token=record.token,
    )
    request = asking(
        "server run",
        msgspec.to_builtins(arguments),
        profile_name=login.settings.name,
        profile=to_plain(login.profile),
        hold_stdin=False,
    )
    if held.job_id is None:
        return start_here(encode(request))
    install_for(login.settings, LocalTransport(), login.emit)
    scratch = login.scratch_of(held)
    request = msgspec.structs.replace(request, job_name=held.name, scratch=scratch)
    return start_on_node(held, login.settings.name, login.environment, encode(request))


def _first_sign(
    login: LoginHost, step: LastingStep, held: HeldNode, record: ServerRecord
) -> Listening:
    try:
        listening = _wait_for_sign(login, step, held, record)
    except BaseException as error:
        step.give_up()
        if isinstance(error, ServerStuck) and held.job_id is not None:
            require_running(held, login.slurm, error)
        raise
    step.cut_loose()
    return listening


def _wait_for_sign(
    login: LoginHost, step: LastingStep, held: HeldNode, record: ServerRecord
) -> Listening:
    failure = None
    for _ in looks(START_S, _LOOK_S, login.clock):
        failure = step.failure()
        for event in _events(step):
            if isinstance(event, Status):
                return msgspec.convert(event.data, Listening)
            if isinstance(event, Failure):
                raise as_error(event)
        if failure:
            break
    reason = failure or "it gives no sign of life"
    raise ServerStuck(name=record.name, node=held.node, reason=reason)


def _events(step: LastingStep) -> list[Event]:
    """What the agent on the node has said so far; a last line may be half there."""
    found = []
    for line in step.output_lines():
        try:
            event = parse_line(line).event
        except Garbled:
            continue
        if event is not None:
            found.append(event)
    return found


def _warn_of_the_port(login: LoginHost, listening: Listening) -> None:
    if not listening.port:
        return
    node, port = listening.node, listening.port
    who = "everybody on this node's network" if listening.open_to_the_network else "every user"
    of = "" if listening.open_to_the_network else f" of `{node}`"
    message = (
        f"{who}{of} can open port {port} of `{node}` while it runs;"
        " a program that can listen on a unix socket is yours alone with `{socket}`"
    )
    login.caution("serve.shared_port", message)


def _warn_of_silence(login: LoginHost, name: str, listening: Listening) -> None:
    if listening.silent:
        message = (
            f"`{name}` listens on `{listening.node}`, and did not answer a first request in time: it may"
            f" be no web server, or still be loading; what it prints is in `{listening.log}` there"
        )
        login.caution("serve.no_answer", message)


def _warn_of_missing_logs(login: LoginHost, name: str, listening: Listening) -> None:
    if listening.missing_logs:
        message = (
            f"there is no directory `{listening.missing_logs}` on `{listening.node}`: TensorBoard is empty until"
            f" logs are written there; if the name is wrong, `scratchflow serve stop {name}` ends it"
        )
        login.caution("serve.no_logs", message)


def _started(record: ServerRecord, *, changed: bool = True) -> ServerStarted:
    return ServerStarted(
        server=shown(record), page=record.page, token=record.token, changed=changed
    )
