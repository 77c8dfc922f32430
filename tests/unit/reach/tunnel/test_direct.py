"""The ssh that goes to the node through a login host that is reached already."""

from __future__ import annotations

from pathlib import Path

from scratchflow.process.child import run_child
from scratchflow.reach.tunnel.direct import direct_argv

LOGIN = ["ssh", "-o", "ControlPath=/tmp/a b/c", "--", "login"]


def test_ssh_itself_reads_it_as_meant(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host node\n    HostName node-7\n    ProxyJump elsewhere\n")
    argv = direct_argv("node", str(config), LOGIN, ["sh", "-c", 'exec "$1"', "it's"])
    said = run_child([argv[0], "-G", *argv[1:]], timeout_s=30).text.splitlines()
    assert "hostname node-7" in said
    assert "proxycommand ssh -o 'ControlPath=/tmp/a b/c' -W '[%h]:%p' -- login" in said
    assert not any(line.startswith("proxyjump") for line in said)
    assert argv[-1] == """'sh' '-c' 'exec "$1"' 'it'"'"'s'"""
