"""How `serve` is typed, and what it says."""

from __future__ import annotations

import pytest

from scratchflow.cli import serve as module
from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.results.serve import ServersListed, ServersStopped, Serving
from scratchflow.model.results.status import ServerShown, TunnelShown

SERVER = ServerShown(name="tb", kind="tensorboard", node="node-1", socket="/tmp/x/s")


@pytest.mark.parametrize(
    "line",
    [
        "serve -- cmd {socket}",
        "serve --name list2 -- cmd --uds={socket}",
        "serve --open -- cmd list {port}",
        "serve command -- cmd {socket}",
    ],
)
def test_a_command_stands_after_two_dashes(line: str) -> None:
    assert parse(line.split()).op == "serve"


@pytest.mark.parametrize(
    "line",
    [
        "serve -- cmd",
        "serve -- cmd {socket} {port}",
        "serve --name a/b -- cmd {socket}",
        "serve --port 99999 -- cmd {socket}",
        "serve jupyter --open --no-tunnel",
        "serve jupyter --copy --no-tunnel",
        "serve stop",
        "serve stop tb --all",
    ],
)
def test_what_cannot_work_is_refused(line: str) -> None:
    with pytest.raises(UsageInvalid):
        parse(line.split())


def test_a_command_without_the_dashes_is_told_where_they_go() -> None:
    with pytest.raises(UsageInvalid, match="did you mean `scratchflow serve -- python`"):
        parse(["serve", "python", "app.py"])
    with pytest.raises(UsageInvalid, match="did you mean `scratchflow serve tensorboard`"):
        parse(["serve", "tensorbord", "runs"])


def test_the_address_is_said_once_and_whole() -> None:
    url = "http://127.0.0.1:8888/lab?token=abc"
    first, second = module._serving(Serving(server=SERVER, url=url))
    assert first == f"`tb` runs on `node-1`: {url}"
    assert second == "`scratchflow serve stop tb` ends it"
    (first, _) = module._serving(Serving(server=SERVER, changed=False))
    assert "already runs on `node-1`, socket /tmp/x/s; `scratchflow tunnel tb`" in first
    assert list(module._serving(Serving(server=SERVER, dry_run=True))) == [
        "would start `tb` on `node-1`"
    ]


def test_a_list_names_servers_and_other_tunnels() -> None:
    tunnel = TunnelShown(name="port-80", local_port=8080, to="port 80", problem="no way there")
    lines = list(module._listed(ServersListed(servers=[SERVER], tunnels=[tunnel])))
    assert lines[-1] == "port-80      a tunnel to port 80: http://127.0.0.1:8080/; no way there"
    assert "nothing is served" in next(iter(module._listed(ServersListed())))


def test_what_was_ended_is_named_once() -> None:
    done = ServersStopped(stopped=["a"], tunnels=["a", "port-80"])
    assert list(module._stopped(done)) == ["ended: `a`, `port-80`"]
    assert list(module._stopped(ServersStopped(dry_run=True))) == ["would end nothing"]
