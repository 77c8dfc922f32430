"""`hop --to` and `snapshots copy` between two clusters, ended at random moments: nothing is lost, and the next one finishes it.

`SCRATCHFLOW_KILLS` and `SCRATCHFLOW_KILLS_MB` say how often, and how large the workspace is. `--log-cli-level=info` shows the figures.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until
from tests.cluster.two_clusters import LOGINS, TwoClusters

pytestmark = pytest.mark.slow
FIGURES = logging.getLogger(__name__)
STORE = "/fsx/alice/store"
KILLS = int(os.environ.get("SCRATCHFLOW_KILLS", "20"))
INTERRUPTIONS = 10
MEGABYTES = int(os.environ.get("SCRATCHFLOW_KILLS_MB", "300"))
# Random data does not shrink; what else is in the archives is far less than this.
MOST_OF_IT = MEGABYTES * 1_000_000
MANIFESTS_ONLY = 1_000_000


class TwoStores(TwoClusters):
    """A workspace on `uni`, and what the stores of both have of it."""

    def forget(self) -> None:
        """Neither cluster has a job, a store or a workspace any more."""
        for profile, cluster in (("uni", self.first), ("aws", self.second)):
            self.laptop.run("clear", "--no-backup", "--profile", profile)
            cluster.free_nodes("alice")
            cluster.exec("login", "rm", "-rf", STORE, KNOWN_STORES)
            for node in cluster.node_states():
                cluster.exec(
                    node, "sh", "-c", "rm -rf /scratch/alice/* /scratch/alice/.scratchflow"
                )

    def start_working(self) -> str:
        """A workspace with a full snapshot, and a little work since; the digests of what is in it."""
        self.laptop.data("up", "--profile", "uni")
        self._work("mkdir small; for n in $(seq 200); do echo $n > small/$n; done")
        self._work(f"head -c {MEGABYTES}M /dev/urandom > large")
        self.laptop.data("backup", "--full", "--profile", "uni")
        self._work("date +%N > small/7; rm small/8; head -c 1M /dev/urandom > medium")
        return self.digests("uni")

    def _work(self, script: str) -> str:
        return self._on("uni", script)

    def digests(self, profile: str) -> str:
        """Of each file of the workspace."""
        return self._on(profile, "find . -type f -print0 | sort -z | xargs -0 sha256sum")

    def _on(self, profile: str, script: str) -> str:
        done = self.laptop.run("-p", profile, "run", "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def whole_copies(self, digests: str) -> list[str]:
        """Which stores have a committed snapshot with the large file whole, read without our own program."""
        wanted = next(line.split()[0] for line in digests.splitlines() if line.endswith("/large"))
        return [
            name
            for name, cluster in (("uni", self.first), ("aws", self.second))
            if any(
                _large_in(manifest.with_suffix(".tar.lz4")) == wanted
                for manifest in (cluster.shared(STORE) / "work").glob("*Z-*.json")
            )
        ]

    def require_undamaged(self) -> None:
        for profile in LOGINS:
            assert self.laptop.data("snapshots", "verify", "--profile", profile)["bad"] == []


def _large_in(archive: Path) -> str:
    script = 'lz4 -dc "$1" | tar -xO work/large | sha256sum'
    argv = ["sh", "-c", script, "sh", str(archive)]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()[0]


@pytest.fixture
def clusters(tmp_path: Path, minicluster: Minicluster, second: Minicluster) -> Iterator[TwoStores]:
    both = TwoStores(tmp_path, minicluster, second)
    both.forget()
    yield both
    both.forget()


def test_a_hop_killed_at_random_leaves_a_whole_copy_and_is_finished_by_the_next_one(
    clusters: TwoStores,
) -> None:
    chance = random.Random(5)  # noqa: S311 - moments, not secrets
    laptop, hop = clusters.laptop, ("hop", "--to", "aws", "--profile", "uni")
    before = clusters.start_working()
    started_s = time.monotonic()
    laptop.data(*hop)
    whole_s = time.monotonic() - started_s
    assert clusters.digests("aws") == before
    FIGURES.info("a hop with %d MB takes %.1f s", MEGABYTES, whole_s)
    kills: Counter[str] = Counter()
    for number in range(KILLS):
        clusters.forget()
        before = clusters.start_working()
        after_s = chance.uniform(0.1, whole_s)
        doing = _killed(laptop.begin(*hop, "--json"), after_s)
        whole = clusters.whole_copies(before)
        FIGURES.info("kill %d after %.1f s (%s): whole in %s", number + 1, after_s, doing, whole)
        assert whole
        clusters.require_undamaged()
        laptop.data(*hop)
        assert clusters.digests("aws") == before
        assert laptop.data("status", "--profile", "uni")["allocation"] is None
        kills[doing] += 1
    FIGURES.info("kills in each phase: %s", dict(kills))


def _killed(process: subprocess.Popen[str], after_s: float) -> str:
    """What it was doing when the power went."""
    try:
        stdout, _ = process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        stdout, _ = process.communicate()
    doing = "connecting"
    for line in stdout.splitlines():
        event = json.loads(line) if line.endswith("}") else {}
        doing = event.get("phase") or event.get("state") or doing
    return "nothing any more" if process.returncode == 0 else doing


def test_a_copy_interrupted_at_random_goes_on_each_time_and_arrives_whole(
    clusters: TwoStores,
) -> None:
    chance = random.Random(6)  # noqa: S311 - moments, not secrets
    laptop = clusters.laptop
    clusters.start_working()
    laptop.data("backup", "--profile", "uni")
    copy = ("snapshots", "copy", "--all", "--to", "aws", "--profile", "uni")
    planned = laptop.data(*copy, "--dry-run")
    left = [planned["sent_bytes"]]
    assert left[0] > MOST_OF_IT
    for enough in sorted(chance.sample(range(MOST_OF_IT), INTERRUPTIONS)):
        with laptop.begin(*copy) as running:
            _wait_for(clusters.second, enough)
            running.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            running.communicate()
        assert running.returncode != 0
        left.append(laptop.data(*copy, "--dry-run")["sent_bytes"])
    assert left == sorted(left, reverse=True)
    done = laptop.data(*copy)
    assert [*done["already_there"], *done["copied"]] == planned["copied"]
    assert done["sent_bytes"] <= left[-1]
    assert _digests(clusters.second) == _digests(clusters.first)
    clusters.require_undamaged()

    received = _received_bytes(clusters.second)
    assert laptop.data(*copy)["sent_bytes"] == 0
    moved = _received_bytes(clusters.second) - received
    assert moved < MANIFESTS_ONLY
    FIGURES.info("left to send before and after each interruption: %s", left)
    FIGURES.info("a copy of what is there: %d bytes over the network", moved)


def _wait_for(cluster: Minicluster, least: int) -> None:
    retry_until(lambda: _arrived_bytes(cluster) >= least, f"{least} bytes are there")


def _arrived_bytes(cluster: Minicluster) -> int:
    arriving = cluster.shared(STORE) / "work" / "arriving"
    return max((path.stat().st_size for path in arriving.glob("*")), default=0)


def _digests(cluster: Minicluster) -> str:
    script = f"cd {STORE}/work && sha256sum *.tar.lz4 *Z-*.json"
    return cluster.exec("login", "sh", "-c", script).stdout


def _received_bytes(cluster: Minicluster) -> int:
    """By the login host, over its network."""
    script = "cat $(ls -d /sys/class/net/* | grep -v /lo$ | sed s,$,/statistics/rx_bytes,)"
    return sum(map(int, cluster.exec("login", "sh", "-c", script).stdout.split()))
