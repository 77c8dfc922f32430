"""`submit` while the laptop's program, the login host's agent or slurmctld is killed, at random moments.

For one submit there is never more than one job, and never a job without a record. `SCRATCHFLOW_KILLS` says how often
(default: few enough for every run of the suite).
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until

KILLS = int(os.environ.get("SCRATCHFLOW_KILLS", "6"))
STORE = "/fsx/alice/store/work/jobs"
# It stays in the queue: what is tested is the way there.
SUBMIT = ("submit", "--time", "1m", "--sbatch=--hold", "--json", "--", "true")


@pytest.fixture(scope="module")
def saved(ready: Laptop) -> Laptop:
    """A laptop with a snapshot, and no node."""
    ready.data("up", "--node", "1")
    ready.data("clear")
    return ready


class Queue:
    """Every job of alice's that Slurm was ever seen to have: one that is killed may forget some."""

    def __init__(self, cluster: Minicluster) -> None:
        self._cluster = cluster
        self.numbers: dict[str, set[str]] = {}

    def look(self) -> bool:
        argv = ["squeue", "--noheader", "--user=alice", "--states=all", "--format=%i|%j"]
        done = self._cluster.exec("login", *argv, check=False)
        for line in done.stdout.splitlines() if done.returncode == 0 else ():
            number, _, name = line.partition("|")
            if ":" in name and not name.startswith("scratchflow:"):
                self.numbers.setdefault(name.partition(":")[2], set()).add(number)
        return done.returncode == 0


def killed(cluster: Minicluster, process: subprocess.Popen[str], whom: str) -> bool:
    """Kills it; whether it was there to be killed."""
    if whom == "laptop":
        is_there = process.poll() is None
        process.kill()
        return is_there
    if whom == "agent":
        argv = ["pkill", "-KILL", "-u", "alice", "-f", "run.py agent"]
        return cluster.exec("login", *argv, check=False).returncode == 0
    is_there = process.poll() is None
    cluster.run("stop", "login", "slurmctld")
    cluster.run("boot", "login")
    return is_there


def is_quiet(cluster: Minicluster) -> bool:
    """Whether nothing is under way any more: what was begun when somebody was killed may go on to its end."""
    argv = ["pgrep", "-u", "alice", "-f", "run.py agent|^sbatch "]
    return cluster.exec("login", *argv, check=False).returncode == 1


def duration_s(laptop: Laptop) -> float:
    started = time.monotonic()
    assert laptop.run(*SUBMIT).returncode == 0
    return time.monotonic() - started


@pytest.mark.slow
def test_killed_at_any_moment_a_submit_is_one_job_with_a_record_or_none(
    saved: Laptop, minicluster: Minicluster
) -> None:
    moments = random.Random(17)  # noqa: S311 - the same moments in every run
    usual_s = duration_s(saved)
    queue = Queue(minicluster)
    hits: Counter[str] = Counter()
    for attempt in range(KILLS):
        whom = ("laptop", "agent", "slurmctld")[attempt % 3]
        # Little happens at first, on the laptop alone.
        moment_s = moments.uniform(0.2, 1.0) * usual_s
        with saved.begin(*SUBMIT) as process:
            time.sleep(moment_s)  # the moment itself is what is tested
            hits[whom] += killed(minicluster, process, whom)
            process.communicate()
        retry_until(lambda: is_quiet(minicluster), "nothing is under way", deadline_s=120)
        retry_until(queue.look, "slurmctld answers")
        records = {path.parent.name for path in minicluster.shared(STORE).glob("*/job.json")}
        assert queue.numbers.keys() <= records, (attempt, whom, moment_s)
        assert all(len(numbers) == 1 for numbers in queue.numbers.values()), (attempt, whom)
    print(f"submits killed: {dict(hits)}, jobs: {len(queue.numbers)}")  # noqa: T201 - for -s
    assert sum(hits.values()) > KILLS / 4, "hardly any kill hit: the test tests nothing"
    shown = {job["job"]: job for job in saved.data("jobs", "list", "--all")["jobs"]}
    for job, numbers in queue.numbers.items():
        assert {str(shown[job]["number"])} == numbers
    orphans = {job for job in shown if job not in queue.numbers}
    told = {"SUBMITTING", "NOT_SUBMITTED", "FORGOTTEN"}
    assert {shown[job]["state"] for job in orphans} <= told
