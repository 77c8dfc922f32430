"""Shared connections: logged in once, ridden by all, ended when they should be; nothing leaks."""

from __future__ import annotations

import socket
import subprocess
import threading
from pathlib import Path

from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.shared_connection import (
    MAX_PATH_BYTES,
    end_ours,
    note_asking,
    our_master,
    shared_where_asked,
)
from tests.contract.ssh.lab import Lab
from tests.contract.ssh.leaks import assert_no_ssh_is_left, ssh_processes

LIMIT_S = 60


def logins(lab: Lab) -> int:
    return lab.login.log().count("Accepted publickey")


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


def test_ours_is_ended_and_its_directory_stays_for_who_is_about_to_use_it(lab: Lab) -> None:
    with lab.openssh("login", keep_s=600) as transport:
        transport.connect()
    chain = resolve_chain("login", config=lab.config)
    ours = our_master(chain, lab.environment)
    assert ours
    assert Path(ours.path).exists()
    with lab.openssh("login") as other:  # has seen to the directory, and goes on after the end
        end_ours(chain, lab.environment)
        assert_no_ssh_is_left(lab)
        assert other.run(["echo", "on"], timeout_s=LIMIT_S).stdout == b"on\n"


def test_it_is_remembered_which_login_asks_until_ours_is_ended(lab: Lab) -> None:
    with lab.openssh("login", keep_s=600) as transport:
        transport.connect()
    chain = resolve_chain("login", config=lab.config)
    assert shared_where_asked(chain, lab.environment) is None
    note_asking(chain, lab.environment)
    assert shared_where_asked(chain, lab.environment) == our_master(chain, lab.environment)
    end_ours(chain, lab.environment)
    assert_no_ssh_is_left(lab)
    assert shared_where_asked(chain, lab.environment) is None


def test_a_login_that_worked_is_not_lost_because_nothing_can_be_noted(lab: Lab) -> None:
    chain = resolve_chain("login", config=lab.config)
    ours = our_master(chain, lab.environment)
    assert ours
    ours.asked_note.symlink_to(
        "/nonexistent/note"
    )  # as on a full disk, also for root: no file can be made
    note_asking(chain, lab.environment)
    assert shared_where_asked(chain, lab.environment) is None
