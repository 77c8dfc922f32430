"""A server on its node, without a Slurm: started, heard, ended, and never left behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.run import RunDirectoryMissing
from scratchflow.model.errors.serve import ServerFailed, ServerSilent
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.events import Event, Status
from scratchflow.model.requests import RunServer
from scratchflow.model.results.serve import ServerEnded
from scratchflow.node.progress import Notifier
from scratchflow.node.serving import run as module
from scratchflow.node.serving.programs import program_of
from scratchflow.node.serving.run import run_server
from scratchflow.workspace.servers import Listening, ServerRecord, read_server, write_server
from tests.serving import write_program
from tests.unit.conftest import Desk


class Node:
    """Runs a server as the agent does; a test says what happens once it answers."""

    def __init__(self, desk: Desk, home: Path) -> None:
        self.desk, self.home = desk, home
        self.environment = {**os.environ, "HOME": str(home)}
        self.heard: list[Listening] = []

    def run(self, *words: str, cwd: str = "", signum: int = signal.SIGUSR1) -> ServerEnded:
        """Runs until it ends; a signal comes as soon as it answers."""

        def emit(event: Event) -> None:
            if isinstance(event, Status):
                self.heard.append(msgspec.convert(event.data, Listening))
                if signum:
                    os.kill(os.getpid(), signum)

        asked = RunServer(name="n", kind="command", words=words, cwd=cwd, start="one")
        return run_server(self.desk.context, Notifier(emit), asked, self.environment)


@pytest.fixture
def node(desk: Desk, tmp_path: Path) -> Iterator[Node]:
    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGTERM)}
    write_program(desk.work)
    yield Node(desk, tmp_path)
    assert {number: signal.getsignal(number) for number in before} == before


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_it_is_told_where_it_listens_and_is_gone_when_it_is_stopped(node: Node) -> None:
    script = "echo $$ > pid; exec $0 pages.py $1"
    ended = node.run("sh", "-c", script, sys.executable, "{socket}")
    (listening,) = node.heard
    assert ended.reason == "switched off"
    assert os.path.basename(listening.socket) == "s"
    assert not Path(listening.socket).parent.exists()
    assert not is_alive(int((node.desk.work / "pid").read_text()))


def test_a_program_on_a_port_is_told_by_its_port(node: Node) -> None:
    node.run(sys.executable, "pages.py", "{port}")
    (listening,) = node.heard
    assert listening.port > 0
    assert (listening.socket, listening.open_to_the_network) == ("", False)


def test_one_that_ends_before_it_answers_is_told_with_its_last_words(node: Node) -> None:
    with pytest.raises(ServerFailed, match=r"exit code 3.*no such thing") as caught:
        node.run("sh", "-c", "echo no such thing >&2; exit 3", "{socket}")
    assert caught.value.exit_code == 40
    assert node.heard == []


@pytest.mark.slow
def test_one_that_never_listens_is_told_and_ended(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWER_S", 0.3)
    with pytest.raises(ServerSilent, match="does not listen on"):
        node.run("sh", "-c", "echo $$ > pid; sleep 1000", "{socket}")
    assert not is_alive(int((node.desk.work / "pid").read_text()))


@pytest.mark.slow
def test_one_that_listens_and_never_answers_is_told_apart(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scratchflow.node.serving.listening.FIRST_PAGE_S", 0.2)
    code = (
        "import socket,sys,time;s=socket.socket(1);s.bind(sys.argv[1]);s.listen();time.sleep(1000)"
    )
    node.run(sys.executable, "-c", code, "{socket}")
    node.run(sys.executable, "pages.py", "{socket}")
    assert [listening.silent for listening in node.heard] == [True, False]


def test_logs_that_are_not_there_are_named(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, wrong = node.desk.work / "runs", node.desk.work / "rnus"
    runs.mkdir()
    for logs in (str(runs), str(wrong)):
        monkeypatch.setattr(
            module,
            "program_of",
            lambda *given, logs=logs, **named: msgspec.structs.replace(
                program_of(*given, **named), logs=logs
            ),
        )
        node.run(sys.executable, "pages.py", "{socket}")
    assert [listening.missing_logs for listening in node.heard] == ["", str(wrong)]


def test_how_it_ended_by_itself_is_noted_in_its_record(node: Node) -> None:
    record = ServerRecord(name="n", kind="command", words=(), start="one", node="x")
    write_server(node.home, "test", record)
    code = "import socket,sys;s=socket.socket(1);s.bind(sys.argv[1]);s.listen();s.accept();print('bye');sys.exit(4)"
    ended = node.run(sys.executable, "-c", code, "{socket}", signum=0)
    assert ended.reason == "exit code 4: bye"
    found = read_server(node.home, "test", "n")
    assert found is not None
    assert found.ended == "exit code 4: bye"


def test_it_notes_itself_where_it_listens(node: Node) -> None:
    """Whoever asked for it may be killed before it answers: it is listed all the same."""
    record = ServerRecord(name="n", kind="command", words=(), start="one")
    write_server(node.home, "test", record)
    node.run(sys.executable, "pages.py", "{socket}")
    (listening,) = node.heard
    found = read_server(node.home, "test", "n")
    assert found is not None
    assert (found.node, found.socket, found.pid) == (
        listening.node,
        listening.socket,
        listening.pid,
    )


@pytest.mark.slow
def test_one_that_was_moved_here_and_never_noted_ends(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLAIM_S", 0.2)
    monkeypatch.setattr(module, "_CLAIM_LOOK_S", 0.05)
    before = ServerRecord(name="n", kind="command", words=(), start="before", node="x")
    write_server(node.home, "test", before)
    ended = node.run(sys.executable, "pages.py", "{socket}", signum=0)
    assert ended.reason == module.UNCLAIMED
    assert read_server(node.home, "test", "n") == before


def test_when_the_job_ends_nothing_is_noted(node: Node) -> None:
    record = ServerRecord(name="n", kind="command", words=(), start="one", node="x")
    write_server(node.home, "test", record)
    node.run(sys.executable, "pages.py", "{socket}", signum=signal.SIGTERM)
    found = read_server(node.home, "test", "n")
    assert found is not None
    assert found.ended == ""


def test_what_it_prints_is_for_its_user_alone(node: Node) -> None:
    # The server complains there when whoever looked for its first page did not wait for all of it.
    script = "echo secret; exec $0 pages.py $1 2> /dev/null"
    node.run("sh", "-c", script, sys.executable, "{socket}")
    log = Path(node.heard[0].log)
    assert log.read_text() == "secret\n"
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_one_that_heeds_no_signal_is_killed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_END_S", 0.3)
    script = "trap '' TERM; echo $$ > pid; $0 pages.py $1"
    node.run("sh", "-c", script, sys.executable, "{socket}")
    assert not is_alive(int((node.desk.work / "pid").read_text()))


def test_it_dies_with_the_process_that_started_it(node: Node) -> None:
    """As after a SIGKILL of the agent: a child runs it, and is killed once the server answers."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        node.run(
            "sh",
            "-c",
            "echo $$ > pid; exec $0 pages.py $1",
            sys.executable,
            "{socket}",
            signum=signal.SIGKILL,
        )
        os._exit(1)
    os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    pid = int((node.desk.work / "pid").read_text())
    gone = threading.Event()
    while is_alive(pid):
        gone.wait(0.01)


def test_without_its_directory_nothing_starts(node: Node) -> None:
    with pytest.raises(RunDirectoryMissing):
        node.run("true", "{socket}", cwd="missing")
    (node.desk.work).rename(node.desk.scratch / "away")
    with pytest.raises(WorkspaceMissing):
        node.run("true", "{socket}")
