"""A port stays with the name that had it last, for a day after its tunnel was known to live."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scratchflow.flows.serve.former_ports import (
    REMEMBERED_S,
    FormerPort,
    host_directory,
    note_end,
    note_port,
    ports_of_others,
)
from scratchflow.flows.serve.local_tunnels import TunnelRecord, read_tunnels, write_tunnel

FIRST = FormerPort(profile="p", name="python3", to="`python3`")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_a_port_is_another_servers_for_a_day_and_its_own_always() -> None:
    now_s = time.time()
    assert ports_of_others("p", "b", now_s) == {}
    note_port(8080, FIRST)
    assert ports_of_others("p", "python3", now_s) == {}
    assert ports_of_others("p", "b", now_s) == {8080: FIRST}
    assert ports_of_others("other", "python3", now_s) == {8080: FIRST}
    assert ports_of_others("p", "b", now_s + REMEMBERED_S + 60) == {}


def test_the_day_begins_when_the_tunnel_ends_also_after_it_was_open_for_a_week() -> None:
    note_port(8080, FIRST)
    week_s = time.time() + 7 * REMEMBERED_S
    assert ports_of_others("p", "b", week_s) == {}
    note_end(8080, week_s)
    assert ports_of_others("p", "b", week_s + 60) == {8080: FIRST}


def test_the_day_of_a_killed_tunnel_begins_when_that_is_seen() -> None:
    note_port(8080, FIRST)
    note_end(8080, time.time() - 2 * REMEMBERED_S)
    (host_directory() / "p").mkdir()
    write_tunnel("p", TunnelRecord(name="python3", pid=1, local_port=8080, server="python3"))
    assert read_tunnels("p") == []
    assert ports_of_others("p", "b", time.time()) == {8080: FIRST}


def test_a_removed_home_is_not_made_anew_and_damage_is_no_port(state: Path) -> None:
    note_end(8080, time.time())
    assert list(state.iterdir()) == []
    note_port(8080, FIRST)
    (file,) = (path for path in state.rglob("8080"))
    file.write_text("{")
    file.with_name("x").write_text("")
    assert ports_of_others("p", "b", time.time()) == {}
