"""The tunnels of this machine: those that live are known, and a killed one is not among them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.flows.serve.local_tunnels import (
    TunnelRecord,
    end_tunnels,
    holding_tunnel,
    read_tunnel,
    read_tunnels,
    write_tunnel,
)

RECORD = TunnelRecord(name="tb", pid=os.getpid(), local_port=6006, server="tb")
_HOLD = """
import os, signal
from scratchflow.flows.serve.local_tunnels import TunnelRecord, holding_tunnel, write_tunnel
with holding_tunnel("p", "tb"):
    write_tunnel("p", TunnelRecord(name="tb", pid=os.getpid(), local_port=6006, server="tb"))
    print("on", flush=True)
    signal.pause()
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def files(state: Path) -> list[Path]:
    return [path for path in state.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_one_that_lives_is_known_and_afterwards_nothing_is(state: Path) -> None:
    assert read_tunnels("p") == []
    with holding_tunnel("p", "tb") as is_ours:
        assert is_ours
        write_tunnel("p", RECORD)
        assert read_tunnels("p") == [RECORD]
        assert read_tunnels("other") == []
        with holding_tunnel("p", "tb") as is_ours_too:
            assert not is_ours_too
        assert read_tunnel("p", "tb") == RECORD
    assert files(state) == []


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_one_that_was_ended_leaves_nothing(state: Path, signum: int) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLD], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"on\n"
        assert [one.local_port for one in read_tunnels("p")] == [6006]
        if signum == signal.SIGTERM:
            assert end_tunnels("p") == ["tb"]
        holder.send_signal(signum)
        holder.wait()
    assert read_tunnels("p") == []
    assert files(state) == []


def test_an_address_is_on_the_loopback_alone() -> None:
    assert RECORD.url == "http://127.0.0.1:6006"
