"""The agent as a real process: the lines of `--json`, one request, and an end when nobody listens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scratchflow import __version__
from scratchflow.agent.client import call
from scratchflow.agent.request import MAX_REQUEST_BYTES, Request, asking, encode
from scratchflow.dispatch.operations import ON_LOGIN, ON_NODE
from scratchflow.model.errors.agent import AgentMismatch, AgentMissing, RequestRefused
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.config import ConfigBadValue
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.events import Data, Event, Item, Progress
from scratchflow.model.results.by_op import RESULTS_BY_OP
from tests.contract.test_imports import imported
from tests.contract.test_json_protocol import checked
from tests.process_transport import ProcessTransport

ROOT = Path(__file__).resolve().parents[3]
AGENT = [sys.executable, "-m", "scratchflow", "agent"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A cluster's account: nothing configured there."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
        "SLURMD_NODENAME": "node-1",
        "SLURM_JOB_ID": "7",
    }


@pytest.fixture
def profile(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "scratch/work").mkdir(parents=True)
    (tmp_path / "scratch/work/a").write_bytes(b"a" * 5000)
    return {"scratch": str(tmp_path / "scratch"), "store": str(tmp_path / "store")}


def answered(environment: dict[str, str], stdin: bytes) -> tuple[list[dict[str, Any]], int]:
    done = subprocess.run(AGENT, input=stdin, env=environment, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    return checked(done.stdout.decode(), done.returncode), done.returncode


def request(do: str, profile: dict[str, Any] | None = None, **arguments: Any) -> Request:
    return asking(do, arguments, profile_name="aws", profile=profile or {}, hold_stdin=False)


def occupy_lock(store: Path) -> None:
    """A lock whose owner cannot be read keeps everybody waiting for a minute."""
    (store / "work/lock.d").mkdir()
    (store / "work/lock.d/owner.json").touch()


def test_a_whole_life_over_requests(environment: dict[str, str], profile: dict[str, Any]) -> None:
    events: list[Event] = []
    far = ProcessTransport(environment)

    def ask(do: str, **arguments: Any) -> dict[str, Any]:
        asked = asking(do, arguments, profile_name="aws", profile=profile, verbose=True)
        return call(far, asked, events.append, command=AGENT)

    first = ask("create")["snapshot"]
    Path(profile["scratch"], "work/b").write_bytes(b"b")
    assert ask("backup", message="x")["kind"] == "incremental"
    assert {type(event) for event in events} >= {Progress, Item}
    assert len(ask("snapshots list")["snapshots"]) == 2
    assert ask("snapshots verify")["checked"] == 2
    assert ask("snapshots diff", older=first)["added"] == 1
    assert ask("snapshots cat", path="b")["size"] == 1
    assert [event.content for event in events if isinstance(event, Data)] == [b"b"]
    assert [one["change"] for one in ask("snapshots history", path="b")["versions"]] == ["added"]
    assert ask("snapshots show", snapshot=first)["manifest"]["node"] == "node-1"
    assert ask("restore", snapshot=first)["mode"] == "delta"
    assert ask("snapshots prune", dry_run=True)["dry_run"] is True
    assert not Path(environment["HOME"]).exists()


def test_every_do_is_a_verb_with_a_result() -> None:
    assert ON_NODE.keys() | ON_LOGIN.keys() <= RESULTS_BY_OP.keys()


@pytest.mark.parametrize(
    ("stdin", "code", "exit_code"),
    [
        (b"", "agent.request_refused", 2),
        (b"hello?\n", "agent.request_refused", 2),
        (b"x" * (MAX_REQUEST_BYTES + 1), "agent.request_refused", 2),
        (encode(request("dance")), "agent.request_refused", 2),
        (encode(request("backup", dance=True)), "agent.request_refused", 2),
        (encode(request("backup", {"login": "-x"})), "config.bad_value", 10),
    ],
    ids=["nothing", "noise", "endless", "unknown do", "unknown argument", "bad profile"],
)
def test_a_bad_request_is_an_error_line(
    environment: dict[str, str], stdin: bytes, code: str, exit_code: int
) -> None:
    lines, returncode = answered(environment, stdin)
    assert (lines[-1]["code"], returncode) == (code, exit_code)


def test_another_version_is_refused_before_anything_is_done(
    environment: dict[str, str], profile: dict[str, Any]
) -> None:
    asked = json.loads(encode(request("create", profile))) | {"version": "9.9"}
    lines, returncode = answered(environment, json.dumps(asked).encode())
    assert (lines[-1]["code"], returncode) == ("agent.mismatch", 40)
    assert [line["type"] for line in lines] == ["hello", "error"]
    assert not Path(profile["store"]).exists()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (request("dance"), RequestRefused),
        (request("backup", {"login": "-x"}), ConfigBadValue),
        (request("backup", {"scratch": "/nowhere/x", "store": "/nowhere/y"}), WorkspaceMissing),
    ],
)
def test_an_error_over_there_is_the_same_error_here(
    environment: dict[str, str], asked: Request, expected: type[ScratchflowError]
) -> None:
    with pytest.raises(expected) as caught:
        call(ProcessTransport(environment), asked, print, command=AGENT)
    assert caught.value.exit_code == expected.exit_code
    assert "{" not in f"{caught.value}{caught.value.shown_hint}"


def test_a_host_without_an_agent_says_what_to_run(environment: dict[str, str]) -> None:
    with pytest.raises(AgentMissing, match="not found"):
        call(ProcessTransport(environment), request("version"), print, command=["sh", "-c", "nope"])


def test_a_talkative_login_shell_changes_nothing(environment: dict[str, str]) -> None:
    noisy = ["sh", "-c", "echo Welcome; printf 'Loading python/3.11 '; exec \"$@\"", "sh", *AGENT]
    data = call(ProcessTransport(environment), request("version"), print, command=noisy)
    assert data == {"version": __version__}


def test_a_mismatch_over_there_is_one_here(environment: dict[str, str]) -> None:
    old = "import scratchflow; scratchflow.__version__ = '0.0.1'; from scratchflow.cli.main import main; main()"
    command = [sys.executable, "-c", old, "agent"]
    with pytest.raises(AgentMismatch, match=r"0\.0\.1"):
        call(ProcessTransport(environment), request("version"), print, command=command)


CHATTY = """
import os, subprocess
from scratchflow.cli import agent
from scratchflow.model.results.base import VersionShown
def chatty(request, emit, feed=None):
    print("a library talks", flush=True)
    os.write(1, b"a part in C too")
    subprocess.Popen(["sh", "-c", "echo so does a child; exec cat until-released"])
    return VersionShown(version="x")
agent.dispatch = chatty
from scratchflow.cli.main import main; main()
"""


def test_nothing_but_events_reaches_stdout_and_no_child_holds_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "until-released")
    with (tmp_path / "stderr").open("wb") as stderr:
        done = subprocess.run(
            [sys.executable, "-c", CHATTY, "agent"],
            input=encode(request("version")),
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,  # read to its end, though the child lives on
            stderr=stderr,
            check=False,
        )
    (tmp_path / "until-released").write_bytes(b"")
    lines = checked(done.stdout.decode(), done.returncode)
    assert [line["type"] for line in lines] == ["hello", "summary"]
    assert "so does a child" in (tmp_path / "stderr").read_text()


def test_a_terminal_gets_a_hint_instead_of_a_wait(environment: dict[str, str]) -> None:
    terminal, side = os.openpty()
    try:
        done = subprocess.run(
            AGENT, stdin=side, env=environment, capture_output=True, text=True, check=False
        )
    finally:
        os.close(terminal)
        os.close(side)
    assert checked(done.stdout, done.returncode)[-1]["code"] == "usage.invalid"


def test_no_help_lists_the_agent(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*AGENT[:-1], "--help"], env=environment, capture_output=True, text=True, check=True
    )
    assert "agent" not in done.stdout.split()


def test_an_agent_needs_no_typer_and_no_rich(tmp_path: Path) -> None:
    line = tmp_path / "request"
    line.write_bytes(encode(request("version")))
    with line.open("rb") as stdin:
        found = imported("agent", stdin=stdin)
    assert found & {"typer", "rich", "lz4", "libtmux", "paramiko", "platformdirs"} == set()


@pytest.fixture
def working(
    environment: dict[str, str], profile: dict[str, Any]
) -> Iterator[subprocess.Popen[bytes]]:
    """An agent in the middle of a backup that cannot end: another one has the lock."""
    store = Path(profile["store"])
    asked = asking("backup", {}, profile_name="aws", profile=profile)
    call(ProcessTransport(environment), asked, lambda _: None, command=AGENT)
    occupy_lock(store)
    with subprocess.Popen(
        AGENT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(encode(asked))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["type"] == "hello"
        yield process
        process.kill()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_with_one_error(
    working: subprocess.Popen[bytes], signum: signal.Signals
) -> None:
    working.send_signal(signum)
    lines = [json.loads(line) for line in working.stdout or ()]
    assert working.wait(20) == 128 + signum
    assert (lines[-1]["code"], lines[-1]["exit_code"]) == ("signal.ended", 128 + signum)


def test_a_closed_input_ends_it_like_a_hang_up(working: subprocess.Popen[bytes]) -> None:
    assert working.stdin
    working.stdin.close()
    lines = [json.loads(line) for line in working.stdout or ()]
    assert working.wait(20) == 128 + signal.SIGHUP
    assert lines[-1]["message"] == "ended by SIGHUP"


def test_a_client_that_lets_go_ends_the_far_agent(
    environment: dict[str, str], profile: dict[str, Any]
) -> None:
    far = ProcessTransport(environment)
    asked = asking("backup", {}, profile_name="aws", profile=profile)
    call(far, asked, lambda _: None, command=AGENT)
    occupy_lock(Path(profile["store"]))
    stream = far.stream(AGENT, stdin=encode(asked), hold_stdin=True)
    assert b'"hello"' in next(iter(stream))
    stream.close()
    assert stream.process.returncode in {128 + signal.SIGHUP, 128 + signal.SIGPIPE}


def test_an_agent_killed_in_the_middle_is_a_lost_connection(
    environment: dict[str, str], profile: dict[str, Any]
) -> None:
    asked = asking("backup", {}, profile_name="aws", profile=profile)
    call(ProcessTransport(environment), asked, lambda _: None, command=AGENT)
    occupy_lock(Path(profile["store"]))
    killer = threading.Timer(0, lambda: None)

    class Killing(ProcessTransport):
        def stream(self, *args: Any, **kwargs: Any) -> Any:
            stream = super().stream(*args, **kwargs)
            nonlocal killer
            killer = threading.Timer(1.5, stream.process.kill)
            killer.start()
            return stream

    with pytest.raises(ConnectionLost, match="killed by a signal"):
        call(Killing(environment), asked, lambda _: None, command=AGENT)
    killer.join()
