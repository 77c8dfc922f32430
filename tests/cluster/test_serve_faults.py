"""`serve` and `tunnel` on a cluster when something is killed, forbidden, or typed on another machine."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.laptop import SETUP, Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.test_serve import (
    PAGES,
    leads_to,
    port_of,
    serve,
    tunnel_of,
    working,  # noqa: F401 - a fixture
)
from tests.serving import digest_of_page, is_open, page

WORK = "/scratch/alice/work"
SIZE_BYTES = 20_000_000
# Waits until it is let go on, as a server that loads for long.
LATE = "touch waits; while [ ! -e go ]; do sleep 0.05; done; exec python3 pages.py $1"
# Asks a web server of its own host, and prints what comes, if anything does.
ASK = """
import http.client, sys
try:
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
    connection.request("GET", "/")
    print(connection.getresponse().read().decode())
except (OSError, http.client.HTTPException) as error:
    print("refused")
"""
FORBIDDEN = "AllowTcpForwarding no\\nAllowStreamLocalForwarding no\\n"


def far_ends(minicluster: Minicluster, node: str = "node-1") -> list[str]:
    """The processes of tunnels on the node, each with its environment."""
    look = "for p in $(pgrep -f 'tunnel-end$'); do tr '\\0' ' ' < /proc/$p/environ; echo; done"
    said = minicluster.exec(node, "sh", "-c", look, check=False).stdout
    return [line for line in said.splitlines() if "USER=alice" in line]


def is_step(far_end: str) -> bool:
    return "SLURM_STEP_ID=" in far_end


def child_of(pid: int) -> int:
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


@pytest.mark.slow
@pytest.mark.usefixtures("job_steps")
def test_a_killed_ssh_is_followed_by_another_and_leaves_nothing(
    working: Laptop,  # noqa: F811 - the fixture
    minicluster: Minicluster,
) -> None:
    port = port_of(serve(working, "--name", "pages", "--", *PAGES, "{socket}"))
    assert [is_step(one) for one in far_ends(minicluster)] == [False], "it goes over ssh"
    keeper = tunnel_of(working, "pages")["pid"]
    ssh = child_of(keeper)
    assert "ssh" in Path(f"/proc/{ssh}/cmdline").read_text()
    os.kill(ssh, signal.SIGKILL)
    retry_until(lambda: leads_to(port, "node-1"), "it leads there again")
    retry_until(lambda: len(far_ends(minicluster)) == 1, "the first far end is gone")
    (listed,) = working.data("serve", "list")["servers"]
    assert (port_of(listed), listed["problem"], listed["ended"]) == (port, "", "")

    again = child_of(keeper)
    os.kill(keeper, signal.SIGKILL)
    os.kill(again, signal.SIGKILL)
    retry_until(lambda: far_ends(minicluster) == [], "nothing is left on the node")
    assert not is_open(port)
    (listed,) = working.data("serve", "list")["servers"]
    assert (listed["url"], listed["ended"]) == ("", "")


@pytest.mark.usefixtures("job_steps")
def test_a_server_is_listed_although_whoever_started_it_was_killed(
    working: Laptop,  # noqa: F811 - the fixture
    minicluster: Minicluster,
) -> None:
    words = ["--name", "late", "--", "sh", "-c", LATE, "sh", "{socket}"]
    with working.begin("serve", "--json", *words) as starting:
        there = ["test", "-e", f"{WORK}/waits"]
        retry_until(
            lambda: minicluster.exec("node-1", *there, check=False).returncode == 0,
            "the program waits",
        )
        minicluster.exec("login", "pkill", "-KILL", "-u", "alice", "-f", "run.py agent")
        starting.communicate()
    assert working.data("serve", "list")["servers"] == []
    minicluster.exec("node-1", "touch", f"{WORK}/go")
    retry_until(lambda: bool(working.data("serve", "list")["servers"]), "it is listed")
    (listed,) = working.data("serve", "list")["servers"]
    assert (listed["name"], listed["node"], listed["ended"]) == ("late", "node-1", "")
    opened = working.data("tunnel", "late")
    assert page(opened["tunnel"]["local_port"]).startswith(b"node-1")
    working.data("serve", "stop", "late")
    left = minicluster.exec("node-1", "pgrep", "-f", "pages.py", check=False).stdout
    assert left == ""


@contextmanager
def no_forwarding(minicluster: Minicluster) -> Iterator[None]:
    """The login host's sshd forwards nothing; whoever is logged in has to log in again."""
    config = "/etc/ssh/sshd_config"
    edit = f"cp {config} {config}.was && printf '{FORBIDDEN}' >> {config}"
    minicluster.exec("login", "sh", "-c", edit)
    _read_again(minicluster)
    try:
        yield
    finally:
        minicluster.exec("login", "sh", "-c", f"mv {config}.was {config}")
        _read_again(minicluster)


def _read_again(minicluster: Minicluster) -> None:
    minicluster.exec("login", "pkill", "-HUP", "-o", "-x", "sshd")
    minicluster.exec("login", "pkill", "-KILL", "-u", "alice", "-x", "sshd", check=False)
    retry_until(lambda: minicluster.login("true", check=False).returncode == 0, "sshd answers")


@pytest.mark.slow
@pytest.mark.usefixtures("job_steps")
def test_where_sshd_forwards_nothing_it_goes_by_srun(
    working: Laptop,  # noqa: F811 - the fixture
    minicluster: Minicluster,
) -> None:
    with no_forwarding(minicluster):
        port = port_of(serve(working, "--name", "pages", "--", *PAGES, "{socket}"))
        assert [is_step(one) for one in far_ends(minicluster)] == [True]
        found = hashlib.sha256(page(port, f"/{SIZE_BYTES}", timeout_s=120)).hexdigest()
        assert found == digest_of_page(SIZE_BYTES)
        served = serve(working, "--name", "open", "--no-tunnel", "--", *PAGES, "{port}")["server"]
        opened = working.data("tunnel", str(served["port"]))["tunnel"]
        assert page(opened["local_port"]).startswith(b"node-1")
        assert [is_step(one) for one in far_ends(minicluster)] == [True, True]


@pytest.mark.slow
def test_a_second_laptop_opens_it_too_and_stops_it_for_both(
    working: Laptop,  # noqa: F811 - the fixture
    minicluster: Minicluster,
    tmp_path: Path,
) -> None:
    second = Laptop(tmp_path, minicluster)
    second.data(*SETUP, "--yes")
    first_port = port_of(serve(working, "--name", "pages", "--", *PAGES, "{socket}"))
    (seen,) = second.data("serve", "list")["servers"]
    assert (seen["name"], seen["url"]) == ("pages", "")
    opened = second.data("tunnel", "pages")
    port = opened["tunnel"]["local_port"]
    assert page(port).startswith(b"node-1")
    os.kill(tunnel_of(working, "pages")["pid"], signal.SIGKILL)
    assert page(port).startswith(b"node-1"), "the first laptop's end is not the second's"
    assert port_of(working.data("tunnel", "pages")) == first_port
    second.data("serve", "stop", "pages")
    assert not is_open(port)
    retry_until(lambda: not is_open(first_port), "the other laptop's tunnel ends with the server")
    assert working.data("serve", "list") == {"servers": [], "tunnels": []}


@pytest.mark.slow
def test_a_tunnel_to_a_port_follows_a_hop_and_ends_with_the_allocation(
    working: Laptop,  # noqa: F811 - the fixture
    minicluster: Minicluster,
) -> None:
    served = serve(working, "--name", "open", "--no-tunnel", "--", *PAGES, "{port}")["server"]
    opened = working.data("tunnel", f"{served['port']}:28123")["tunnel"]
    assert page(opened["local_port"]).startswith(b"node-1")
    if minicluster.has_steps:
        assert [is_step(one) for one in far_ends(minicluster)] == [False], "it goes over ssh"
    working.data("hop", "--node", "2")
    retry_until(lambda: far_ends(minicluster, "node-2") != [], "it leads to the new node")
    retry_until(lambda: far_ends(minicluster, "node-1") == [], "and no more to the old one")
    (shown,) = working.data("status")["tunnels"]
    assert shown["name"] == opened["name"]
    working.data("clear", "--no-backup")
    assert not is_open(opened["local_port"])
    retry_until(lambda: far_ends(minicluster, "node-2") == [], "nothing is left on the node")


class Typed:
    """scratchflow as alice types it on a host of the cluster."""

    def __init__(self, minicluster: Minicluster, host: str) -> None:
        self._cluster, self._host = minicluster, host
        config = minicluster.shared("/home/alice/serve.toml")
        config.write_text('[profiles.mini]\nlogin = "local"\nstore = "/fsx/$USER/store"\n')

    def lines(self, *words: str, before: str = "") -> list[dict[str, Any]]:
        start = 'sh "$(ls -td ~/.local/share/scratchflow/agent/*/ | head -1)/start"'
        line = (
            f"export SCRATCHFLOW_CONFIG=~/serve.toml; {before} {start} {shlex.join(words)} --json"
        )
        done = self._cluster.ssh(self._host, "sh", "-c", line, check=False)
        return [json.loads(one) for one in done.stdout.splitlines()]

    def ask(self, user: str, port: int) -> str:
        argv = ["exec", "-u", user, self._host, "python3", "-c", ASK, str(port)]
        return self._cluster.run(*argv).stdout.strip()


@pytest.mark.parametrize("host", [pytest.param("login", marks=pytest.mark.slow), "node-1"])
def test_typed_on_a_host_of_the_cluster_the_port_there_is_its_users_alone(
    working: Laptop,  # noqa: F811 - the fixture
    minicluster: Minicluster,
    host: str,
) -> None:
    serve(working, "--name", "pages", "--", *PAGES, "{socket}")
    typed = Typed(minicluster, host)
    lines = typed.lines("tunnel", "pages", "--open")
    assert lines[-1]["type"] == "summary", lines
    opened = lines[-1]["data"]
    port = opened["tunnel"]["local_port"]
    assert typed.ask("alice", port).startswith("node-1")
    assert typed.ask("bob", port) == "refused"
    said = " ".join(line.get("message", "") for line in lines)
    assert f"the address is one of `{host}`; on your laptop, `scratchflow tunnel pages`" in said
    assert "this host has no display" in said
    assert opened["opened"] is False
    in_editor = typed.lines(
        "tunnel", "pages", "--port", str(port + 1000), before="VSCODE_IPC_HOOK_CLI=/x"
    )
    assert any("VS Code forwards port" in line.get("message", "") for line in in_editor)
    listed = typed.lines("serve", "list")[-1]["data"]["servers"]
    assert [port_of(one) for one in listed] == [port + 1000]
    assert port_of(working.data("serve", "list")["servers"][0]) != port + 1000
    assert typed.lines("serve", "stop", "pages")[-1]["data"]["stopped"] == ["pages"]
    assert typed.ask("alice", port + 1000) == "refused"
