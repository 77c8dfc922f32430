"""One view over all clusters, while one of them is away and another one never answers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.laptop import SETUP, SHORT, Laptop
from tests.cluster.minicluster import Minicluster

pytestmark = pytest.mark.slow
BASHRC = "/home/bob/.bashrc"


@pytest.fixture
def stuck(restored_minicluster: Minicluster) -> Iterator[Minicluster]:
    """For bob the login host takes the connection, and then says nothing: his startup files hang."""
    cluster = restored_minicluster
    cluster.exec("login", "cp", "-a", BASHRC, f"{BASHRC}.before")
    cluster.exec("login", "sh", "-c", f"echo 'exec sleep 120' > {BASHRC}")
    yield cluster
    cluster.exec("login", "mv", f"{BASHRC}.before", BASHRC)


def test_what_is_away_and_what_is_silent_hold_up_nobody(stuck: Minicluster, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path, stuck)
    laptop.data(*SETUP, "--yes", *SHORT)
    held = laptop.data("up", "--set", "backup.every=1h")
    saved = laptop.data("backup")["snapshot"]
    laptop.data("profiles", "add", "away", "--login", "nosuch.invalid")
    shown = laptop.run("snapshots", "list", "--all-profiles")
    assert shown.returncode == 14
    assert saved[-6:] in shown.stdout
    assert "✗ away (nosuch.invalid): cannot find a host" in shown.stdout

    laptop.data("profiles", "add", "stuck", "--login", "bob@login")
    done = laptop.outcome("status", "--all")
    assert done["type"] == "summary", done
    (mini,) = done["data"]["profiles"]
    assert (mini["profile"], mini["allocation"]["node"]) == ("mini", held["node"])
    failed = {one["profile"]: one for one in done["data"]["failed"]}
    assert failed["stuck"]["code"] == "profile.silent"
    assert failed["away"]["code"] == "connection.no_such_host"
    assert done["exit_code"] == 14
    # Nothing of it is left on the laptop.
    argv = ["pgrep", "-af", f"ssh.*{tmp_path}.*bob@login"]
    assert subprocess.run(argv, capture_output=True, text=True, check=False).stdout == ""
    laptop.data("clear")
