"""The system's ssh as a transport: it leaves no process behind, failed or interrupted, and can ask nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.ssh.transport.log_files import log_file
from scratchflow.ssh.transport.openssh import ssh_environment
from tests.contract.ssh.lab import Lab
from tests.contract.ssh.leaks import THOROUGH, assert_no_ssh_is_left, nothing_left, ssh_processes

LIMIT_S = 60

# Each is a process, a login and a shared connection that is ended again.
OPENSSH_CYCLES = 200 if THOROUGH else 6


def test_openssh_leaves_no_process_and_no_descriptor(lab: Lab) -> None:
    with nothing_left():
        for cycle in range(OPENSSH_CYCLES):
            with lab.openssh("node" if cycle % 2 else "login") as transport:
                transport.run(["true"], timeout_s=LIMIT_S)
                with transport.stream(["yes"]) as lines:
                    next(lines)
    assert_no_ssh_is_left(lab)


@pytest.mark.parametrize("place", ["here", "gone"])
def test_the_log_is_for_us_alone_and_goes_also_where_the_usual_place_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / place))
    with log_file() as log:
        assert log.stat().st_mode & 0o777 == 0o600
        assert (log.parent == tmp_path / place) == (place == "here")
    assert not log.exists()


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
        "from tests.contract.ssh.lab import Lab\n"
        "from tests.contract.ssh.sshd import Sshd\n"
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


def test_a_connection_that_is_kept_is_ended_only_on_request(lab: Lab) -> None:
    with lab.openssh("login", keep_s=600) as transport:
        transport.connect()
        assert "over a shared connection" in transport.describe()
    assert ssh_processes(lab)
    transport.end_master()
    assert_no_ssh_is_left(lab)


def test_what_a_config_asks_for_interactive_logins_does_not_reach_a_command(lab: Lab) -> None:
    note = lab.directory / "local-command"
    lab.write_config(
        f"Host login\n  RequestTTY force\n  RemoteCommand false\n"
        f"  PermitLocalCommand yes\n  LocalCommand touch {note}\n"
    )
    with lab.openssh("login") as transport:
        done = transport.run(["sh", "-c", "test -t 0 || echo no tty"], timeout_s=LIMIT_S)
    assert (done.returncode, done.stdout) == (0, b"no tty\n")
    assert not note.exists()


def test_nothing_in_the_environment_makes_ssh_open_a_window() -> None:
    before = {"DISPLAY": ":0", "WAYLAND_DISPLAY": "w", "SSH_ASKPASS": "/bin/x", "HOME": "/h"}
    after = ssh_environment(before)
    assert after == {"HOME": "/h", "SSH_ASKPASS_REQUIRE": "never"}


def test_a_tilde_after_enter_is_the_far_commands(lab: Lab) -> None:
    """ssh would take `~.` for its own key, and end. (An sshd of an ordinary user gives nobody a terminal to try it in.)"""
    with lab.openssh("login") as transport:
        transport.connect()
        program, *options = transport.foreground_argv(terminal=True)
        asked = subprocess.run(
            [program, "-G", *options], capture_output=True, text=True, check=True
        )
    assert "escapechar none" in asked.stdout.lower().splitlines()
