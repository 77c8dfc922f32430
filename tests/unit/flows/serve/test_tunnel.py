"""What `tunnel` is told, and the local port that it takes."""

from __future__ import annotations

import os
import socket

import pytest

from scratchflow.config.settings import Asked
from scratchflow.flows.serve import tunnel as module
from scratchflow.flows.serve.former_ports import FormerPort
from scratchflow.flows.serve.tunnel import WantedTunnel, address, usual_port, wanted_tunnel
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Event, Log
from scratchflow.model.results.status import TunnelShown


@pytest.mark.parametrize(
    ("text", "wanted", "name"),
    [
        ("8888", WantedTunnel(port=8888, usual_port=8888), "port-8888"),
        ("8888:9999", WantedTunnel(port=8888, local_port=9999, usual_port=8888), "port-8888"),
        ("/run/a b/s.sock", WantedTunnel(socket="/run/a b/s.sock"), "socket-run-a-b-s-sock"),
        ("tensorboard", WantedTunnel(server="tensorboard"), "tensorboard"),
    ],
)
def test_a_port_a_socket_and_a_name_are_told_apart(
    text: str, wanted: WantedTunnel, name: str
) -> None:
    assert wanted_tunnel(text, 0, "c") == wanted
    assert wanted.name == name


@pytest.mark.parametrize(
    "text", ["", "a/b", "0", "70000", "9100:70000", "9100:0", "80:", "-x", "a b"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageInvalid):
        wanted_tunnel(text, 0, "c")


def test_the_next_free_port_is_taken_and_told() -> None:
    said: list[Event] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with module._listening(WantedTunnel(port=1, local_port=port), said.append, {}) as own:
            assert own.getsockname() == ("127.0.0.1", own.getsockname()[1])
            assert own.getsockname()[1] != port
            (remark,) = said
            assert isinstance(remark, Log)
            assert f"port {port} of this machine is in use" in remark.message


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


def test_a_port_that_led_to_another_server_is_left_alone_unless_it_is_asked_for() -> None:
    port, said = free_port(), list[Event]()
    others = {port: FormerPort(profile="p", name="python3", to="`python3`")}
    with module._listening(WantedTunnel(server="b", usual_port=port), said.append, others) as own:
        assert own.getsockname()[1] != port
    (remark,) = said
    assert isinstance(remark, Log)
    assert f"port {port} of this machine led to `python3`" in remark.message
    asked = WantedTunnel(server="b", usual_port=8080, local_port=port)
    with module._listening(asked, said.append, others) as own:
        assert own.getsockname()[1] == port
        # It is open now, so that is what is said.
        module._listening(WantedTunnel(server="c", usual_port=port), said.append, others).close()
    assert "is in use" in str(said[1])


def test_a_port_of_another_server_is_better_than_none() -> None:
    tried = list(module._ports_to_try(8080, set(range(8080, 8300))))
    assert tried[:2] == [0, 8080]
    assert next(module._ports_to_try(8080, {8080})) == 8081


def test_a_port_that_only_root_may_have_is_not_tried_by_itself() -> None:
    with module._listening(WantedTunnel(port=80, usual_port=80), lambda _: None, {}) as own:
        assert own.getsockname()[1] >= 1024


def test_an_address_carries_page_and_token() -> None:
    shown = TunnelShown(name="j", local_port=8888, to="`j`")
    assert address(shown) == "http://127.0.0.1:8888/"
    assert address(shown, "/lab", "abc") == "http://127.0.0.1:8888/lab?token=abc"
    assert (usual_port("tensorboard"), usual_port("other")) == (6006, 8080)


def test_the_keeper_finds_the_same_settings_from_anywhere() -> None:
    found = module._from_anywhere(Asked(config="here.toml"), "p")
    assert (found.config, found.profile) == (os.path.abspath("here.toml"), "p")
    assert module._environment({"SCRATCHFLOW_CONFIG": "x"}) == {
        "SCRATCHFLOW_CONFIG": os.path.abspath("x")
    }
