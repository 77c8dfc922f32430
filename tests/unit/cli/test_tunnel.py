"""How `tunnel` is typed, and what it says."""

from __future__ import annotations

import pytest

from scratchflow.cli import tunnel as module
from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.results.serve import TunnelOpened
from scratchflow.model.results.status import TunnelShown

SHOWN = TunnelShown(name="port-80", local_port=8080, to="port 80")


def test_where_it_leads_is_said() -> None:
    opened = TunnelOpened(tunnel=SHOWN, url="http://127.0.0.1:8080/", node="node-1")
    assert list(module._shown(opened)) == [
        "http://127.0.0.1:8080/ leads to port 80 of `node-1`",
        "`scratchflow serve stop port-80` ends it",
    ]
    handed_on = TunnelOpened(tunnel=SHOWN, url="x", opened=True, copied=True)
    assert "it is open in the browser and on the clipboard" in list(module._shown(handed_on))
    planned = TunnelOpened(tunnel=SHOWN, dry_run=True)
    assert list(module._shown(planned)) == [
        "would lead port 8080 of this machine to port 80 of the node"
    ]


def test_a_local_port_has_to_be_one() -> None:
    assert parse(["tunnel", "8888", "--port", "9999"]).op == "tunnel"
    with pytest.raises(UsageInvalid, match="70000 is no port"):
        parse(["tunnel", "8888", "--port", "70000"])
