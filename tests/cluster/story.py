"""A user's day as the fault tests see it: what was written, what was promised, what is true on every host."""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until

WORK = "/scratch/alice/work"
FILES = 60
# Every file of one generation says its number: two numbers beside each other are half a workspace.
WRITE = (
    "cd {work} && i=0; while [ $i -lt {files} ]; do"
    " {{ echo {generation}; head -c 20000 /dev/urandom; }} > part-$i; i=$((i+1)); done"
)
LOOK = (
    "cd /scratch/alice || exit 0; test -e .scratchflow/work/restoring.json && echo restoring;"
    " test -d work && echo there && for f in work/part-*; do head -n 1 $f; done | sort | uniq -c"
)
ENDED_S = 150.0
"""No verb may hang for longer, whatever happens to the cluster."""
PASSES = {"slurm.unreachable", "node.silent", "hop.next_node_silent"}
"""A slurmctld that forgot the end of a job falls at the next `srun` into it, and lets nothing run for some
seconds after its start: both are said, with the advice to wait, and pass."""


@dataclass
class Story:
    """One laptop, one cluster, and everything that was ever reported as saved."""

    laptop: Laptop
    cluster: Minicluster
    chance: random.Random
    generation: int = 0
    committed: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def work_on(self) -> str:
        """The node is there, and the user changes every file; the node."""
        node: str = self.must("up")["node"]
        self.write(node)
        return node

    def write(self, node: str) -> None:
        self.generation += 1
        text = WRITE.format(work=WORK, files=FILES, generation=self.generation)
        self.cluster.exec("-u", "alice", node, "sh", "-c", text)

    def empty(self, node: str) -> None:
        """As a node that never had the workspace."""
        self.cluster.exec(node, "rm", "-rf", WORK, "/scratch/alice/.scratchflow")

    def must(self, *verb: str) -> dict[str, Any]:
        """It has to work, on a cluster that is well."""
        ended = self.patient(*verb)
        if ended["type"] != "summary":
            pytest.fail(f"{verb} fails: {ended['code']}: {ended['message']} | {self.notes}")
        data: dict[str, Any] = ended["data"]
        return data

    def patient(self, *verb: str) -> dict[str, Any]:
        """As a user who is told to try again in a minute, does, and is told so once more at most."""
        ended = self.tried(*verb)
        for _ in range(2):
            if ended.get("code") not in PASSES:
                break
            self.notes.append(f"{verb[0]} {ended['exit_code']} {ended['message']}")
            self.heal()
            ended = self.tried(*verb)
        return ended

    def tried(self, *verb: str) -> dict[str, Any]:
        process = self.laptop.begin(*verb, "--json")
        return self.ended(process)

    def ended(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """How it ended; what it reported as saved is remembered."""
        with process:
            try:
                stdout, stderr = process.communicate(timeout=ENDED_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(f"it hangs: {process.args!r}") from None
        assert "Traceback" not in stderr, stderr
        lines = [json.loads(line) for line in stdout.splitlines()]
        last: dict[str, Any] = lines[-1]
        assert last["type"] in {"summary", "error"}, last
        assert last["exit_code"] == process.returncode != 1, last
        self.committed |= _snapshots_named(last.get("data"))
        return last

    def heal(self) -> None:
        self.cluster.run("up")
        retry_until(lambda: _all_well(self.cluster), "the cluster is well again", deadline_s=90)

    def require_truth(self) -> None:
        """Nothing lost, nothing half, no job that `status` does not know."""
        self._require_known_jobs()
        self._require_snapshots()
        self.require_whole()

    def require_whole(self) -> None:
        for node in self.cluster.node_states():
            seen = self.cluster.exec(node, "sh", "-c", LOOK, check=False).stdout.split("\n")
            counts = [line.split() for line in seen if line and line[0] == " "]
            if "restoring" in seen or "there" not in seen:
                continue
            assert len(counts) <= 1, (node, seen, self.notes)
            assert all(int(count) == FILES for count, _ in counts), (node, seen, self.notes)

    def _require_known_jobs(self) -> None:
        shown = self.must("status")
        held = shown["allocation"]
        result = {str(held["job_id"])} if held else set()
        for problem in shown["problems"]:
            if problem["name"] == "allocation.several":
                result |= set(re.findall(r"\d+", problem["detail"]))
        jobs = set(self.cluster.jobs())
        assert jobs <= result, (jobs, shown, self.notes)

    def _require_snapshots(self) -> None:
        listed = {row["id"] for row in self.must("snapshots", "list")["snapshots"]}
        assert self.committed <= listed, (self.committed - listed, self.notes)
        self.committed |= listed
        checked = self.must("snapshots", "verify")
        assert checked["bad"] == [], (checked, self.notes)


def _snapshots_named(data: object) -> set[str]:
    """Every snapshot that a result speaks of; it was committed, then."""
    return set(re.findall(r"\d{8}T\d{6}Z-[0-9a-f]{6}", json.dumps(data)))


def _all_well(cluster: Minicluster) -> bool:
    fine = {"idle", "mixed", "allocated", "completing"}
    return set(cluster.node_states().values()) <= fine


@dataclass(frozen=True)
class Faults:
    """What can happen to a cluster in the middle of something."""

    story: Story

    def scancel(self) -> None:
        jobs = self.story.cluster.jobs()
        if jobs:
            self.story.cluster.exec("login", "scancel", self.story.chance.choice(jobs))

    def node(self) -> None:
        held = self._nodes() or ["node-1"]
        victim = self.story.chance.choice(held)
        self.story.notes.append(f"crashed {victim}")
        self.story.cluster.run("crash", victim)

    def login(self) -> None:
        self.story.cluster.run("crash", "login")

    def link(self) -> None:
        host = self.story.chance.choice(["login", *self._nodes()])
        cut_s = self.story.chance.choice([0.5, 3.0, 8.0])
        self.story.notes.append(f"cut {host} for {cut_s} s")
        self.story.cluster.run("link", host, "down")
        time.sleep(cut_s)  # how long the cable is out is what is tested
        self.story.cluster.run("link", host, "up")

    def _nodes(self) -> list[str]:
        states = "--states=PENDING,RUNNING"
        argv = ["squeue", "--noheader", states, "--format=%N"]
        return self.story.cluster.exec("login", *argv, check=False).stdout.split()
