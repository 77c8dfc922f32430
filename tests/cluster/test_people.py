"""Ids, times and paths as people write and read them on a laptop, far from the cluster's time zone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scratchflow.model.ages import short_id
from scratchflow.model.times import epoch
from tests.cluster.laptop import SHORT, Laptop
from tests.cluster.minicluster import Minicluster
from tests.terminal import CTRL_C, Terminal

# Half a day from the cluster's zone, which is UTC: the local day is another one most of the time.
FAR = "LOCAL-12"


@pytest.mark.slow
def test_a_laptop_in_another_zone(
    laptop: Laptop, minicluster: Minicluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", FAR)
    assert laptop.run("up", *SHORT, "--set", "backup.every=1h").returncode in {0, 100}
    first = laptop.data("snapshots", "list")["snapshots"][-1]["id"]
    node = laptop.data("status")["allocation"]["node"]
    write = "mkdir -p /scratch/alice/work/src; echo one > /scratch/alice/work/src/main.py"
    minicluster.exec("-u", "alice", node, "sh", "-c", write)
    assert "+ src/  1 file, 4 B" in laptop.run("snapshots", "diff").stdout
    named = laptop.data("backup", "-m", "submitted version")["snapshot"]

    local = time.gmtime(time.time() + 12 * 3600)
    for name in ("@submitted", "today", short_id(named), f"{local.tm_hour}:{local.tm_min:02d}"):
        shown = laptop.data("snapshots", "show", name)["manifest"]["id"]
        assert shown == named, name
    assert laptop.data("snapshots", "show", "latest~1")["manifest"]["id"] == first

    minicluster.exec("-u", "alice", node, "sh", "-c", "echo two > /scratch/alice/work/src/main.py")
    restored = laptop.run("restore", "today", "--path", "src/main.py", "--to", f"{laptop.home}/old")
    assert f"`today` is snapshot {short_id(named)} (" in restored.stderr
    assert "`~/old` is in your home on the cluster, not on this machine" in restored.stderr
    assert not (Path(laptop.home) / "old").exists()
    found = minicluster.exec("-u", "alice", "login", "sh", "-c", "cat ~alice/old/src/main.py")
    assert found.stdout == "one\n"
    minicluster.exec("-u", "alice", "login", "sh", "-c", "rm -r ~alice/old")

    end_s = epoch(laptop.data("status")["allocation"]["end_time"])
    assert end_s is not None
    end = time.strftime("%H:%M", time.gmtime(end_s + 12 * 3600))
    assert f", until {end} (" in laptop.run("status").stdout
    with Terminal(laptop.argv("status", "--watch"), laptop.environment) as terminal:
        terminal.wait_for(f"until {end}")
        for row in terminal.rows:
            assert len(row) <= 80
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert "error" not in terminal.text
