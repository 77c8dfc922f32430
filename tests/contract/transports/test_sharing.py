"""Shared connections: logged in once, ridden by all, ended when they should be; nothing leaks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.shared_connection import MAX_PATH_BYTES, our_master
from tests.contract.transports.lab import Lab

LIMIT_S = 60
THOROUGH = bool(os.environ.get("SCRATCHFLOW_THOROUGH"))
CYCLES = 200 if THOROUGH else 50
# Each is a process, a login and a shared connection that is ended again.
OPENSSH_CYCLES = 200 if THOROUGH else 6


def logins(lab: Lab) -> int:
    return lab.login.log().count("Accepted publickey")


def ssh_processes(lab: Lab) -> list[str]:
    """Commands and shared connections (`ssh: PATH [mux]`) of this lab."""
    shown = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True)
    lines = shown.stdout.splitlines()
    return [
        line for line in lines if line.startswith(("ssh ", "ssh:")) and str(lab.directory) in line
    ]


def assert_no_ssh_is_left(lab: Lab) -> None:
    deadline = time.monotonic() + 10
    while ssh_processes(lab) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ssh_processes(lab) == []


def test_many_commands_log_in_once_and_closing_ends_it(lab: Lab) -> None:
    with lab.openssh("login") as transport:
        for _ in range(3):
            transport.run(["true"], timeout_s=LIMIT_S)
        assert ssh_processes(lab)
    assert logins(lab) == 1
    assert_no_ssh_is_left(lab)


def test_a_kept_connection_serves_the_next_scratchflow(lab: Lab) -> None:
    with lab.openssh("login", keep_s=600) as first:
        first.connect()
    with lab.openssh("login", keep_s=600) as second:
        assert second.run(["echo", "on"], timeout_s=LIMIT_S).stdout == b"on\n"
        second.end_master()
    assert logins(lab) == 1
    assert_no_ssh_is_left(lab)


def test_a_socket_left_by_a_dead_process_is_no_obstacle(lab: Lab) -> None:
    transport = lab.openssh("login")
    assert transport._master
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(transport._master.path)
    for _ in range(2):
        assert transport.run(["echo", "on"], timeout_s=LIMIT_S).stdout == b"on\n"
    assert logins(lab) == 1
    transport.close()


def test_two_that_log_in_at_once_leave_nothing_behind(lab: Lab) -> None:
    transports = [lab.openssh("login") for _ in range(4)]
    threads = [threading.Thread(target=transport.connect) for transport in transports]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for transport in transports:
        assert transport.run(["echo", "on"], timeout_s=LIMIT_S).stdout == b"on\n"
    for transport in transports:
        transport.close()
    assert_no_ssh_is_left(lab)


def test_a_shared_connection_of_the_users_is_ridden_and_never_ended(lab: Lab) -> None:
    path = lab.directory / "mine"
    lab.write_config(f"Host login\n  ControlPath {path}\n")
    start = ["ssh", "-F", str(lab.config), "-o", "ControlMaster=yes", "-o", "ControlPersist=60"]
    subprocess.run([*start, "login", "true"], check=True, capture_output=True)
    with lab.openssh("login") as transport:
        assert transport.run(["echo", "on"], timeout_s=LIMIT_S).stdout == b"on\n"
        assert "your shared connection" in transport.describe()
        transport.end_master()
    assert logins(lab) == 1
    check = ["ssh", "-F", str(lab.config), "-O", "check", "login"]
    assert subprocess.run(check, check=False, capture_output=True).returncode == 0
    subprocess.run([*check[:-3], "-O", "exit", "login"], check=True, capture_output=True)
    with lab.openssh("login") as transport:
        assert transport.run(["echo", "on"], timeout_s=LIMIT_S).stdout == b"on\n"


def test_a_repointed_alias_never_rides_the_connection_to_the_node_before(lab: Lab) -> None:
    before = lab.openssh("login")
    lab.write_config(f"Host login\n  Port {lab.node.port}\n")
    after = lab.openssh("login")
    assert before._master
    assert after._master
    assert before._master.path != after._master.path


def test_without_a_private_short_place_nothing_is_shared(lab: Lab, tmp_path: Path) -> None:
    chain = resolve_chain("login", config=lab.config)
    long = tmp_path / ("x" * 80)
    long.mkdir()
    master = our_master(chain, {"XDG_RUNTIME_DIR": str(long)})
    assert master
    assert not master.path.startswith(str(long))
    assert len(master.path) <= MAX_PATH_BYTES
    transport = lab.openssh("login")
    transport._master = transport._fallback = None
    assert transport.run(["sh", "-c", "exit 255"], timeout_s=LIMIT_S).returncode == 255
    assert transport.run(["sh", "-c", "kill -9 $$"], timeout_s=LIMIT_S).returncode == -1


def test_a_directory_that_others_can_reach_is_not_used(lab: Lab, tmp_path: Path) -> None:
    chain = resolve_chain("login", config=lab.config)
    open_to_all = tmp_path / "scratchflow"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    master = our_master(chain, {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert master is None or not master.path.startswith(str(tmp_path))


@contextmanager
def nothing_left() -> Iterator[None]:
    """No thread and no descriptor is there afterwards that was not there before."""
    threads, files = set(threading.enumerate()), len(os.listdir("/dev/fd"))
    yield
    left = set(threading.enumerate()) - threads
    for thread in left:
        thread.join(2)  # one that was told to end may need a moment
    assert [thread.name for thread in left if thread.is_alive()] == []
    assert len(os.listdir("/dev/fd")) <= files


def test_paramiko_leaves_no_thread_and_no_descriptor(shared_lab: Lab) -> None:
    with shared_lab.paramiko("node") as transport:
        transport.connect()  # whatever is loaded once is loaded now
    with nothing_left():
        for cycle in range(CYCLES):
            with shared_lab.paramiko("node" if cycle % 4 == 0 else "login") as transport:
                transport.connect()
                if cycle % 5 == 0:
                    transport.run(["true"], timeout_s=LIMIT_S)
                    with transport.stream(["yes"]) as lines:
                        next(lines)


def test_openssh_leaves_no_process_and_no_descriptor(lab: Lab) -> None:
    with nothing_left():
        for cycle in range(OPENSSH_CYCLES):
            with lab.openssh("node" if cycle % 2 else "login") as transport:
                transport.run(["true"], timeout_s=LIMIT_S)
                with transport.stream(["yes"]) as lines:
                    next(lines)
    assert_no_ssh_is_left(lab)


def test_failed_connections_leave_nothing_either(lab: Lab) -> None:
    lab.known_hosts.write_text("")
    with nothing_left():
        for kind in ("paramiko", "openssh") * 3:
            with lab.transport(kind, "login") as transport, pytest.raises(Exception, match="key"):
                transport.connect()
    assert_no_ssh_is_left(lab)


def test_an_interrupted_command_leaves_nothing(lab: Lab) -> None:
    program = (
        "import os, signal, sys, threading\n"
        "from pathlib import Path\n"
        "from tests.contract.transports.lab import Lab\n"
        "from tests.contract.transports.sshd import Sshd\n"
        "directory, kind = Path(sys.argv[1]), sys.argv[2]\n"
        "sshd = Sshd(directory, directory)\n"
        "transport = Lab(directory, sshd, sshd).transport(kind, 'login')\n"
        "transport.connect()\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    with transport: transport.run(['sleep', '30'], timeout_s=60)\n"
        "except KeyboardInterrupt: sys.exit(42)\n"
    )
    for kind in ("paramiko", "openssh"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(lab.directory), kind],
            cwd=Path(__file__).parents[3],
            check=False,
            timeout=40,
        )
        assert done.returncode == 42
        assert_no_ssh_is_left(lab)
