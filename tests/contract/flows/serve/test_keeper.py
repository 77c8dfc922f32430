"""The process that keeps a tunnel: it ends with its server, and nothing is left when it is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from typing import Any

import pytest

from scratchflow.flows.serve.local_tunnels import lead_on
from scratchflow.process.waiting import looks
from tests.contract.flows.serve.conftest import Machine, port_of
from tests.serving import is_open, page


def record_of(machine: Machine, kind: str, name: str) -> dict[str, Any]:
    """Of the tunnel, or of the server."""
    root = {"tunnels": ".local/state", "servers": ".local/share"}[kind]
    (file,) = (machine.home / root / "scratchflow" / kind).rglob(f"{name}.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def closes(port: int) -> bool:
    return any(not is_open(port) for _ in looks(30, 0.05))


def test_after_a_kill_the_port_is_free_and_the_next_tunnel_has_it_again(machine: Machine) -> None:
    serving = machine.serve("--name", "pages")
    port = port_of(serving["url"])
    os.kill(record_of(machine, "tunnels", "pages")["pid"], signal.SIGKILL)
    assert closes(port)
    (listed,) = machine.data("serve", "list")["servers"]
    assert (listed["url"], listed["ended"]) == ("", "")
    opened = machine.data("tunnel", "pages")
    assert opened["tunnel"]["local_port"] == port
    assert page(port).endswith(b"hello")


def test_it_ends_with_its_server(machine: Machine) -> None:
    port = port_of(machine.serve("--name", "pages")["url"])
    os.kill(record_of(machine, "servers", "pages")["pid"], signal.SIGKILL)
    assert closes(port)
    listed = machine.data("serve", "list")
    assert [one["ended"] for one in listed["servers"]] == ["it was killed"]
    assert listed["tunnels"] == []


def test_it_ends_when_no_command_can_find_it_any_more(machine: Machine) -> None:
    port = port_of(machine.serve("--name", "pages")["url"])
    shutil.rmtree(machine.home / ".local/state/scratchflow/tunnels")
    assert closes(port)


def test_a_far_end_that_is_killed_is_started_again(machine: Machine) -> None:
    port = port_of(machine.serve("--name", "pages")["url"])
    far_end = far_end_of(record_of(machine, "tunnels", "pages")["pid"])
    assert far_end is not None
    os.kill(far_end, signal.SIGKILL)
    assert any(_answers(port) for _ in looks(30, 0.05))


def test_a_tunnel_to_a_port_connects_anew_when_it_is_told_to(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = machine.serve("--name", "pages", "--no-tunnel", place="{port}")["server"]
    opened = machine.data("tunnel", str(served["port"]))["tunnel"]
    port, keeper = opened["local_port"], record_of(machine, "tunnels", opened["name"])["pid"]
    before = far_end_of(keeper)
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    lead_on("local")
    assert any(far_end_of(keeper) not in {None, before} for _ in looks(30, 0.05))
    assert any(_answers(port) for _ in looks(30, 0.05))


def far_end_of(keeper: int) -> int | None:
    """The process at the other end, on one machine a child of the keeper."""
    with open(f"/proc/{keeper}/task/{keeper}/children") as listed:
        return next((int(one) for one in listed.read().split()), None)


def _answers(port: int) -> bool:
    """One that was accepted just before the keeper noticed is closed."""
    try:
        return page(port).endswith(b"hello")
    except OSError:
        return False


def test_a_port_and_a_socket_of_ones_own_are_reached_too(machine: Machine) -> None:
    served = machine.serve("--name", "pages", "--no-tunnel", place="{port}")["server"]
    opened = machine.data("tunnel", str(served["port"]), "--port", "0")
    assert opened["tunnel"]["name"] == f"port-{served['port']}"
    assert opened["tunnel"]["local_port"] != served["port"]
    assert page(opened["tunnel"]["local_port"]).endswith(b"hello")
    socket = machine.serve("--name", "other", "--no-tunnel")["server"]["socket"]
    to_socket = machine.data("tunnel", socket)
    assert page(to_socket["tunnel"]["local_port"]).endswith(b"hello")
    missing = machine.lines("tunnel", f"{machine.home}/missing")
    assert "tunnel.socket" in [line.get("code") for line in missing]
    machine.data("serve", "stop", missing[-1]["data"]["tunnel"]["name"])
    names = {one["name"] for one in machine.data("serve", "list")["tunnels"]}
    assert names == {opened["tunnel"]["name"], to_socket["tunnel"]["name"]}
    assert {one["name"] for one in machine.data("status")["tunnels"]} == names
    again = machine.data("tunnel", opened["tunnel"]["name"])
    assert (again["url"], again["changed"]) == (opened["url"], False)
    assert set(machine.data("serve", "stop", *names)["tunnels"]) == names
    assert closes(opened["tunnel"]["local_port"])


def test_two_servers_have_two_ports_and_the_second_is_told(machine: Machine) -> None:
    first = machine.serve("--name", "a", "--port", "28080")
    lines = machine.lines(
        "serve",
        "--name",
        "b",
        "--port",
        "28080",
        "--",
        "sh",
        "-c",
        "exec $0 pages.py $1",
        "python3",
        "{socket}",
    )
    assert lines[-1]["data"]["url"] != first["url"]
    assert any("port 28080 of this machine is in use" in line.get("message", "") for line in lines)


def test_an_address_that_moves_is_told_and_its_port_is_given_to_no_other_server(
    machine: Machine,
) -> None:
    first = port_of(machine.serve("--name", "a")["url"])
    planned = machine.lines("tunnel", "a", "--port", "29195", "--dry-run")
    assert page(first).endswith(b"hello")
    lines = machine.lines("tunnel", "a", "--port", "29195")
    moved = lines[-1]["data"]["tunnel"]["local_port"]
    assert moved != first
    told = f"http://127.0.0.1:{first}/ does not lead to `a` any more"
    assert any(told in line.get("message", "") for line in lines)
    assert any(f":{first}/ would not lead" in line.get("message", "") for line in planned)
    assert page(moved).endswith(b"hello")
    other = port_of(machine.serve("--name", "b")["url"])
    assert other not in {first, moved}


def test_a_tunnel_stays_where_it_is_when_the_port_that_is_asked_for_is_taken(
    machine: Machine,
) -> None:
    first = port_of(machine.serve("--name", "a")["url"])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        lines = machine.lines("tunnel", "a", "--port", str(port))
    assert lines[-1]["data"]["tunnel"]["local_port"] == first
    assert any(
        f"port {port} of this machine cannot be taken" in one.get("message", "") for one in lines
    )
    assert page(first).endswith(b"hello")
