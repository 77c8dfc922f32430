"""What is stopped is gone, and nothing else is touched."""

from __future__ import annotations

import sys

import pytest

from scratchflow.login.serving.look import servers_on
from scratchflow.login.serving.start import start_server
from scratchflow.login.serving.stop import stop_servers
from scratchflow.model.errors.serve import ServerMissing
from scratchflow.model.requests import StartServer, StopServers
from scratchflow.node.serving.listening import Address, listens
from tests.unit.login.serving.conftest import Here

PAGES = (sys.executable, "pages.py", "{socket}")


@pytest.mark.slow
def test_one_ends_by_its_name_and_the_other_goes_on(here: Here) -> None:
    one, other = (
        start_server(here.host, StartServer(words=PAGES, name=name)).server for name in "ab"
    )
    planned = stop_servers(here.host, StopServers(names=("a",), dry_run=True))
    assert planned.stopped == ["a"]
    assert listens(Address(one.socket))
    assert stop_servers(here.host, StopServers(names=("a",))).stopped == ["a"]
    assert not listens(Address(one.socket))
    assert listens(Address(other.socket))
    assert [record.name for record in servers_on(here.host)] == ["b"]
    assert stop_servers(here.host, StopServers(every=True)).stopped == ["b"]
    assert servers_on(here.host) == []


@pytest.mark.slow
def test_a_name_that_nothing_has_ends_nothing(here: Here) -> None:
    server = start_server(here.host, StartServer(words=PAGES, name="a")).server
    with pytest.raises(ServerMissing):
        stop_servers(here.host, StopServers(names=("a", "b")))
    assert listens(Address(server.socket))
