"""`serve` and `tunnel` on a cluster: from the laptop, past other users of the node, across a move and a lost link."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.pages import VENV, WRITE_SCALARS, cell_output, install_pages, rendered
from tests.serving import PROGRAM, is_open, page

PAGES = ("python3", "pages.py")
# Run as another user of the node: what happens when that one connects.
KNOCK = """
import socket, sys
where = sys.argv[1]
try:
    if "/" in where:
        socket.socket(socket.AF_UNIX).connect(where)
    else:
        socket.create_connection(("127.0.0.1", int(where)))
    print("open")
except OSError as error:
    print(type(error).__name__)
"""


def lines(laptop: Laptop, *words: str) -> list[dict[str, Any]]:
    """`serve …`: `--json` has to stand before the command's own words."""
    done = laptop.run("serve", "--json", *words)
    return [json.loads(line) for line in done.stdout.splitlines()]


def serve(laptop: Laptop, *words: str) -> dict[str, Any]:
    last = lines(laptop, *words)[-1]
    assert last["type"] == "summary", last
    found: dict[str, Any] = last["data"]
    return found


def port_of(serving: dict[str, Any]) -> int:
    return int(serving["url"].split(":")[2].partition("/")[0])


def knock(minicluster: Minicluster, user: str, node: str, where: object) -> str:
    argv = ["exec", "-u", user, node, "python3", "-c", KNOCK, str(where)]
    return minicluster.run(*argv).stdout.strip()


def leads_to(port: int, node: str) -> bool:
    try:
        return page(port).startswith(node.encode())
    except OSError:
        return False


def tunnel_of(laptop: Laptop, name: str) -> dict[str, Any]:
    state = Path(laptop.environment["XDG_STATE_HOME"], "scratchflow", "tunnels")
    (file,) = state.glob(f"*/mini/{name}.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.fixture
def working(laptop: Laptop) -> Laptop:
    """A laptop with a workspace on node-1, and the program of a server in it."""
    laptop.data("up", "--node", "1")
    write = f"open('pages.py', 'w').write({PROGRAM!r})"
    assert laptop.run("run", "--", "python3", "-c", write).returncode == 0
    return laptop


def test_only_its_user_reaches_it_and_the_address_stays_after_a_hop(
    working: Laptop, minicluster: Minicluster
) -> None:
    serving = serve(working, "--name", "pages", "--", *PAGES, "{socket}")
    port, place = port_of(serving), serving["server"]["socket"]
    assert page(port).startswith(b"node-1")
    assert knock(minicluster, "alice", "node-1", place) == "open"
    assert knock(minicluster, "bob", "node-1", place) == "PermissionError"
    heard = lines(working, "--no-tunnel", "--", *PAGES, "{port}")
    assert "serve.shared_port" in [line.get("code") for line in heard]
    assert knock(minicluster, "bob", "node-1", heard[-1]["data"]["server"]["port"]) == "open"
    shown = working.data("status")["servers"]
    assert {one["name"] for one in shown} == {"pages", "python3"}

    hopped = working.data("hop", "--node", "2")
    assert set(hopped["servers"]) == {"pages", "python3"}
    retry_until(lambda: leads_to(port, "node-2"), "the same address leads to the new node")

    working.data("clear")
    assert not is_open(port)
    assert working.data("serve", "list") == {"servers": [], "tunnels": []}
    left = minicluster.exec("node-2", "pgrep", "-f", "pages.py|tunnel-end", check=False).stdout
    assert left == ""


@pytest.mark.slow
@pytest.mark.usefixtures("job_steps")
def test_whatever_is_killed_nothing_stays_and_the_list_is_true(
    working: Laptop, minicluster: Minicluster
) -> None:
    serving = serve(working, "--name", "pages", "--", *PAGES, "{socket}")
    port = port_of(serving)
    os.kill(tunnel_of(working, "pages")["pid"], signal.SIGKILL)
    retry_until(lambda: not is_open(port), "the port is free")
    far_end = ["pgrep", "-f", "tunnel-end"]
    retry_until(
        lambda: minicluster.exec("node-1", *far_end, check=False).stdout == "",
        "nothing of the tunnel is left on the node",
    )
    (listed,) = working.data("serve", "list")["servers"]
    assert (listed["url"], listed["ended"]) == ("", "")

    assert port_of(serve(working, "--name", "pages", "--", *PAGES, "{socket}")) == port
    assert page(port).startswith(b"node-1")
    minicluster.exec("node-1", "pkill", "-KILL", "-f", "agent$")
    retry_until(lambda: not is_open(port), "the tunnel ends with its server")
    (listed,) = working.data("serve", "list")["servers"]
    assert listed["ended"]
    left = minicluster.exec("node-1", "pgrep", "-f", "pages.py", check=False).stdout
    assert left == ""


@pytest.mark.slow
def test_real_tensorboard_and_jupyter_are_open_here_and_to_nobody_else(
    working: Laptop, minicluster: Minicluster, tmp_path: Path
) -> None:
    """Their pages in Chromium, before and after a hop; a cell that runs on the node; no port that others could open."""
    install_pages(minicluster, tmp_path)
    missing = working.outcome("serve", "tensorboard", "runs")
    assert (missing["code"], missing["exit_code"]) == ("serve.not_installed", 40)
    installs = ("pip install tensorboard", "create --env venv --packages tensorboard")
    assert any(line in missing["hint"] for line in installs)  # as the node's own Python allows
    working.data("config", "set", "environment.venv", VENV)
    assert working.run("run", "--", "python", "-c", WRITE_SCALARS).returncode == 0

    board = working.data("serve", "tensorboard", "runs")
    assert "scratchflow_loss" in rendered(board["url"], tmp_path)
    lab = working.data("serve", "jupyter")
    port, token = port_of(lab), lab["url"].partition("token=")[2]
    assert "JupyterLab" in rendered(lab["url"], tmp_path)
    alice = minicluster.exec("login", "id", "-u", "alice").stdout.strip()
    assert listeners(minicluster, "node-1", alice) == []
    code = "import subprocess; print(subprocess.check_output('hostname', text=True))"
    assert cell_output(port, token, code).strip() == "node-1"
    for server in (board["server"], lab["server"]):
        assert knock(minicluster, "bob", "node-1", server["socket"]) == "PermissionError"
    seen = minicluster.exec("node-1", "sh", "-c", "cat /proc/[0-9]*/cmdline").stdout
    assert "jupyterlab" in seen
    assert token not in seen
    assert token not in minicluster.exec("node-1", "cat", lab["server"]["log"]).stdout
    assert token not in json.dumps(working.lines("status"))

    working.data("hop", "--node", "2")
    retry_until(lambda: "scratchflow_loss" in rendered(board["url"], tmp_path), "the same scalars")
    assert cell_output(port, token, code).strip() == "node-2"


def listeners(minicluster: Minicluster, node: str, uid: str) -> list[str]:
    """The ports on which processes of this user listen."""
    tables = minicluster.exec(node, "sh", "-c", "cat /proc/net/tcp /proc/net/tcp6").stdout
    rows = [line.split() for line in tables.splitlines()]
    return [row[1] for row in rows if row[3] == "0A" and row[7] == uid]


@pytest.mark.slow
def test_after_a_minute_without_a_link_it_leads_there_again(
    working: Laptop, minicluster: Minicluster
) -> None:
    port = port_of(serve(working, "--name", "pages", "--", *PAGES, "{socket}"))
    minicluster.run("link", "login", "down")
    try:
        until = time.monotonic() + 60
        retry_until(lambda: time.monotonic() > until, "a minute has passed", deadline_s=90)
    finally:
        minicluster.run("link", "login", "up")
    retry_until(lambda: leads_to(port, "node-1"), "it leads there again", deadline_s=120)
