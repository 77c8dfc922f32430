"""A short allocation to its very end, with nobody there but the job: no laptop, no login session, no tmux.

Takes the whole allocation, so it runs only when `SCRATCHFLOW_ALONE` says how many nodes at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.laptop import SETUP, Laptop
from tests.cluster.minicluster import Minicluster, retry_until, run

NODES = int(os.environ.get("SCRATCHFLOW_ALONE", "0"))
EVERY_S, LIMIT_S, SLACK_S = 10, 180, 5
LATE_S = 15
"""A file that is written so long before the end is in a snapshot of before the end."""
# The user's own work goes on: without it there would be nothing new to save.
TICK = "(while :; do date +%s > /scratch/alice/work/tick; sleep 1; done) >/dev/null 2>&1 &"
STARTER = "/home/alice/.local/share/scratchflow/agent/current/start"

pytestmark = pytest.mark.skipif(not NODES, reason="SCRATCHFLOW_ALONE says on how many nodes")


@dataclass(frozen=True)
class Alone:
    """One profile with its own store, used on the login host itself; one node is its."""

    cluster: Minicluster
    number: int

    @property
    def name(self) -> str:
        return f"alone-{self.number}"

    @property
    def store(self) -> Path:
        return self.cluster.shared(f"/fsx/alice/{self.name}/work")

    def config(self) -> str:
        return (
            f'[profiles.{self.name}]\nlogin = "local"\nscheduler = "slurm"\n'
            f'scratch = "/scratch/$USER"\nstore = "/fsx/$USER/{self.name}"\n'
            f'[profiles.{self.name}.slurm]\npartition = "debug"\nexclusive = true\n'
            f'time = "{LIMIT_S // 60}:00"\n'
            f'[profiles.{self.name}.backup]\nevery = "{EVERY_S}s"\nfinal_before = "30s"\n'
            "keep_last = 1000\n"
        )

    def do(self, *arguments: str) -> dict[str, Any]:
        argv = ["exec", "-u", "alice", "login", "env", "HOME=/home/alice", "sh", STARTER]
        done = self.cluster.run(*argv, *arguments, "--profile", self.name, "--json", check=False)
        last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        assert last["type"] == "summary", last
        found: dict[str, Any] = last["data"]
        return found

    def write(self, node: str, name: str) -> None:
        work = f"/scratch/alice/work/{name}"
        self.cluster.exec("-u", "alice", node, "sh", "-c", f"date +%s > {work}")

    def committed(self) -> dict[str, float]:
        """When each snapshot was: the rename of its manifest is the commit."""
        manifests = [path for path in self.store.glob("*.json") if "Z-" in path.name]
        return {path.stem: path.stat().st_mtime for path in sorted(manifests)}

    def final_ones(self, node: str) -> int:
        """How often the loop says that it took the one before the time limit."""
        log = self.store / "heartbeats" / f"{node}.log"
        return log.read_text().count("the last before the time limit: snapshot")

    def members(self, snapshot: str) -> set[str]:
        """What an archive holds, by the system's own tools."""
        archive = self.store / f"{snapshot}.tar.lz4"
        with subprocess.Popen(["lz4", "-dc", str(archive)], stdout=subprocess.PIPE) as unpacked:
            listed = subprocess.run(
                ["tar", "-tf", "-"],
                stdin=unpacked.stdout,
                capture_output=True,
                text=True,
                check=False,
            )
        return set(listed.stdout.splitlines())


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[list[Alone]]:
    """A cluster with a node for each profile."""
    cluster = Minicluster(tmp_path / "state", {"MC_NODES": str(NODES)})
    try:
        cluster.run("up")
        (tmp_path / "laptop").mkdir()
        laptop = Laptop(tmp_path / "laptop", cluster)
        laptop.data(*SETUP, "--yes")
        profiles = [Alone(cluster, number) for number in range(1, NODES + 1)]
        text = "".join(profile.config() for profile in profiles)
        config = cluster.shared("/home/alice/.config/scratchflow/config.toml")
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(text)
        run(["chown", "-R", "20001", str(config.parent.parent)])
        yield profiles
    finally:
        cluster.run("down", "--purge")


def test_the_last_work_is_saved_before_the_time_limit_with_nobody_watching(
    alone: list[Alone],
) -> None:
    cluster = alone[0].cluster
    nodes: dict[str, str] = {}
    ends: dict[str, float] = {}
    for profile in alone:
        got = profile.do("up")
        nodes[profile.name], ends[profile.name] = got["node"], _epoch(got["end_time"])
        cluster.exec("-u", "alice", got["node"], "sh", "-c", TICK)
    cluster.exec("login", "pkill", "-KILL", "--uid", "alice", check=False)
    gone_s = time.time()
    for profile in sorted(alone, key=lambda one: ends[one.name]):
        time.sleep(max(0.0, ends[profile.name] - LATE_S - time.time()))
        profile.write(nodes[profile.name], "late")
    retry_until(lambda: cluster.jobs() == [], "every job has ended", deadline_s=120)
    failures = [
        problem
        for profile in alone
        for problem in _problems(profile, nodes[profile.name], ends[profile.name], gone_s)
    ]
    assert failures == []


def _problems(profile: Alone, node: str, end_s: float, gone_s: float) -> list[str]:
    """What was promised and is not so."""
    committed = profile.committed()
    before_end = {name: at for name, at in committed.items() if at <= end_s}
    late = [name for name in before_end if "work/late" in profile.members(name)]
    last_s = end_s - max(before_end.values())
    since_gone = sorted(at for at in committed.values() if at > gone_s)
    widest_s = max((after - before for before, after in pairwise(since_gone)), default=0.0)
    result = (
        f"{profile.name}: {len(before_end)} before the end, the last {last_s:.1f} s before it,"
        f" {len(committed) - len(before_end)} after it, widest gap {widest_s:.1f} s"
    )
    print(result)  # noqa: T201 - the figures, for whoever runs it with -s
    promises = {
        "one final backup": profile.final_ones(node) == 1,
        "the last one belongs to the last interval": last_s <= EVERY_S + SLACK_S,
        "the late file is in one of before the end": bool(late),
        "snapshots keep coming": widest_s <= EVERY_S + SLACK_S,
    }
    return [f"{result}: not so: {promise}" for promise, kept in promises.items() if not kept]


def _epoch(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
