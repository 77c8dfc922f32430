"""A server in one line, whatever became of it."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cli.server_words import column_of, server_lines, tunnel_lines
from scratchflow.model.results.status import ServerShown, TunnelShown

SERVER = ServerShown(name="tb", kind="command", node="node-1", port=8000)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "on node-1, port 8000; `scratchflow tunnel tb` opens it here"),
        ({"url": "http://x/"}, "on node-1: http://x/"),
        ({"url": "http://x/", "problem": "no way"}, "on node-1: http://x/ waits: no way"),
        ({"ended": "exit code 1: \x1b[2Jgone"}, "ended on node-1: exit code 1: \\x1b[2Jgone"),
    ],
)
def test_where_it_is_or_how_it_ended(changes: dict[str, str], text: str) -> None:
    server = msgspec.structs.replace(SERVER, **changes)
    assert list(server_lines(server, None)) == [f"tb           {text}"]
    assert list(server_lines(server, None, "serving")) == [f"serving      `tb` {text}"]


def test_a_tunnel_that_leads_to_no_server() -> None:
    tunnel = TunnelShown(name="port-80", local_port=8080, to="port 80", problem="no \x1blink")
    text = "a tunnel to port 80: http://127.0.0.1:8080/; no \\x1blink"
    assert list(tunnel_lines(tunnel, None)) == [f"port-80      {text}"]
    assert list(tunnel_lines(tunnel, None, "tunnel")) == [f"tunnel       `port-80`, {text}"]


def test_names_of_any_length_leave_the_rest_in_one_column() -> None:
    short = ServerShown(
        name="tensorboard", kind="tensorboard", node="n", url="http://a/", shows="runs"
    )
    long = msgspec.structs.replace(short, name="tensorboard-2", shows="old runs")
    column = column_of([short.name, long.name])
    shown = [*server_lines(short, None, column=column), *server_lines(long, None, column=column)]
    assert shown == [
        "tensorboard   of `runs` on n: http://a/",
        "tensorboard-2 of `old runs` on n: http://a/",
    ]
