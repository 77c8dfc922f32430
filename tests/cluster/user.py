"""One user with one laptop on one cluster: her files, her verbs, and what is true for her at any moment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.ledger import NODES, Broken, Ledger, Photographs
from tests.cluster.story import PASSES, Story
from tests.oracle.changes import Tree
from tests.oracle.photograph import Photograph

# What a user may be told on a cluster that is well, each with a way on in its hint.
_REFUSALS = {
    "allocation.elsewhere",
    "allocation.missing",
    "allocation.waiting",
    "backup.shrink_guard",
    "clear.backup_failed",
    "hop.clusters_diverged",
    "hop.diverged",
    "hop.unfinished",
    "release.not_saved",
    "restore.incomplete",
    "restore.not_permitted",
    "restore.not_saved",
}
AGENTS_END_S = 60.0
"""How long an agent may work on after its verb has ended or was killed."""
IDLE_S = 5.0
"""How long an agent is watched that may only wait."""
MEETS_S = 8.0
"""How long a fault lasts that was there before the verb."""
_SQUEUE = ("squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING", "--format=%i|%j|%N")
_AGENTS = """
for pid in $(pgrep -u alice -f 'run.py agent'); do
    [ "$pid" = "$1" ] || [ "$(ps -o ppid= -p $pid | tr -d ' ')" = "$1" ] ||
        echo $(ps -o pid=,ppid=,args= -p $pid) $(cut -d ' ' -f 14,15 /proc/$pid/stat)
done
"""


class Ended(NamedTuple):
    """How a verb ended, and every node before and after it."""

    result: dict[str, Any]
    before: Photographs
    after: Photographs
    jobs_before: dict[str, str]
    jobs_after: dict[str, str]

    @property
    def worked(self) -> bool:
        return self.result.get("type") == "summary"

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = self.result["data"]
        return found


@dataclass
class User:
    """What she does goes through here, and whatever she does may lose nothing."""

    story: Story
    ledger: Ledger
    also: list[str] = field(default_factory=list)
    took_s: dict[str, float] = field(default_factory=dict)

    @property
    def roots(self) -> list[str]:
        return ["work", *self.also]

    def as_alice(self, *actions: Callable[[Tree], None]) -> None:
        """In a process of hers, in the scratch of the node that she has."""
        nodes = [node for node in self.jobs().values() if node]
        if not nodes or not self.ledger.scratch(nodes[-1]).is_dir():
            return
        self.turn_page(is_moving=True)
        self.ledger.look()
        for action in actions:
            _in_a_process(self.ledger.scratch(nodes[-1]), action)
            self.ledger.look()
        self.ledger.learn()

    def verb(
        self,
        *arguments: str,
        during: Callable[[], object] | None = None,
        fault: Callable[[subprocess.Popen[str]], object] | None = None,
        after_s: float = 0.0,
    ) -> Ended:
        """Runs it, whatever happens meanwhile; then nothing may be lost."""
        disturbed = during is not None or fault is not None
        self.turn_page(is_moving=disturbed)
        jobs, before = self.jobs() if during is None else {}, self.ledger.look()
        if during:
            during()
        began_s = time.monotonic()
        process = self.story.laptop.begin(*arguments, "--json")
        if fault:
            time.sleep(after_s)  # the moment itself is what is tested
            fault(process)
        elif during:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(MEETS_S)
        if disturbed:
            self.story.heal()
        result = self._result(process, disturbed=disturbed)
        if not disturbed:
            self.took_s[arguments[0]] = time.monotonic() - began_s
        after = self.settled(before)
        self._say(arguments, result)
        if not disturbed:
            self._require_expected(arguments, result, before)
        return Ended(result, before, after, jobs, self.jobs())

    def _result(self, process: subprocess.Popen[str], *, disturbed: bool) -> dict[str, Any]:
        if process.poll() is not None and process.returncode < 0:
            process.communicate()
            return {"type": "killed", "exit_code": process.returncode}
        try:
            return self.story.ended(process)
        except (AssertionError, IndexError):
            # One that was killed has no last line, or not a whole one.
            if disturbed and process.returncode in {
                -signal.SIGKILL,
                -signal.SIGINT,
                -signal.SIGTERM,
            }:
                return {"type": "killed", "exit_code": process.returncode}
            raise

    def _require_expected(
        self, arguments: tuple[str, ...], result: dict[str, Any], before: Photographs
    ) -> None:
        """On a cluster that is well a verb works, or is refused for a reason that there is."""
        code = result.get("code")
        if result["type"] == "error" and code not in _REFUSALS | PASSES:
            raise Broken(f"{arguments} fails: {code}: {result['message']}")
        if code == "release.not_saved" and not any(map(_has_unsaveable, before.values())):
            raise Broken(f"{arguments} is refused for no reason: {result['message']}")

    def _say(self, arguments: tuple[str, ...], result: dict[str, Any]) -> None:
        end = result.get("code", result["type"])
        self.ledger.counts[f"{arguments[0]}: {end}"] += 1
        print(  # noqa: T201
            "   ", *arguments, "->", result["exit_code"], end, result.get("message", ""), flush=True
        )

    def turn_page(self, *, is_moving: bool) -> None:
        self.ledger.turn_page(is_moving=is_moving)

    def settled(self, before: Photographs, spared: list[str] | None = None) -> Photographs:
        self._wait_for_agents()
        after = self.ledger.look()
        self.ledger.learn()
        self.ledger.require_nothing_lost(before, after, spared or [])
        return after

    # -- what is true

    def jobs(self) -> dict[str, str]:
        """Our jobs' numbers, each with its node."""
        lines = self.story.cluster.exec("login", *_SQUEUE).stdout.splitlines()
        rows = [line.split("|") for line in lines]
        return {number: node for number, name, node in rows if name.startswith("scratchflow:")}

    def _lingering(self) -> list[str]:
        """Agents that still run, without the loops of the auto-backup."""
        found: list[str] = []
        for host in ("login", *NODES):
            result = self.ledger.heartbeat(host) if host != "login" else None
            argv = ["sh", "-c", _AGENTS, "sh", str(result.pid) if result else "0"]
            shown = self.story.cluster.exec(host, *argv, check=False).stdout
            found += [f"{host}: {line}" for line in shown.splitlines()]
        return found

    def _wait_for_agents(self) -> None:
        """Until none works any more. One whose host lost its connection may wait for a word for ever."""
        until_s = time.monotonic() + AGENTS_END_S
        while lingering := self._lingering():
            if time.monotonic() > until_s:
                time.sleep(IDLE_S)  # whether it uses the CPU meanwhile is what is looked at
                if self._lingering() != lingering:
                    raise Broken(f"agents work for nobody: {lingering}")
                self.ledger.counts["agents that wait for nobody"] += 1
                print("    waits for nobody:", lingering, flush=True)  # noqa: T201
                return
            time.sleep(0.1)

    def is_on(self, node: str) -> bool:
        result = self.ledger.heartbeat(node)
        if result is None or result.phase == "ended":
            return False
        kill = ["sh", "-c", f"grep -q 'run.py' /proc/{result.pid}/cmdline"]
        return self.story.cluster.exec(node, *kill, check=False).returncode == 0

    def require_status(self) -> None:
        """`status` knows every job, and names a node, a workspace and a snapshot that there are."""
        jobs, shown = self.jobs(), self.story.must("status")
        held = shown["allocation"]
        if held and held["state"] == "running" and jobs.get(str(held["job_id"])) != held["node"]:
            raise Broken(f"status shows {held}, and the jobs are {jobs}")
        several = [one for one in shown["problems"] if one["name"] == "allocation.several"]
        if jobs and not (held and (len(jobs) == 1 or several)):
            raise Broken(f"status shows {held}, and the jobs are {jobs}")
        count, last = shown["snapshots"]["count"], shown["snapshots"].get("last_id")
        if count < len(self.ledger.held) or (self.ledger.held and last < self.ledger.ids[-1]):
            raise Broken(f"status shows {count} snapshots up to {last}: {self.ledger.ids[-3:]}")
        self._require_workspace(shown["workspace"], held["node"] if held else None)

    def _require_workspace(self, shown: dict[str, Any], node: str | None) -> None:
        there = node is not None and (self.ledger.scratch(node) / "work").is_dir()
        if node and self.is_on(node) and shown["exists"] is not None and shown["exists"] != there:
            raise Broken(f"status shows {shown}, and on {node} it is there: {there}")
        base = shown["base_snapshot"]
        if base and base not in {one.id for one in self._listed()}:
            raise Broken(f"status shows {shown}, and there is no such snapshot")

    def _listed(self) -> list[Any]:
        self.ledger.look()
        self.ledger.learn()
        return list(self.ledger.manifests.values())


def _has_unsaveable(taken: Photograph) -> bool:
    """Something that no backup saves: it cannot be read, or a restore moved it aside, or its root is alone."""
    tops = {path.partition(b"/")[0] for path in taken.nodes}
    aside = any(b".before-" in top for top in tops)
    closed = any(one.kind == "directory" and not one.mode & 0o400 for one in taken.nodes.values())
    return bool(taken.unreadable) or aside or closed or tops == {b"env"}


def _in_a_process(scratch: Path, action: Callable[[Tree], None]) -> None:
    owner = scratch.stat()
    child = os.fork()
    if child == 0:
        try:
            # Only root gets as far as this directory; from inside it everybody goes on.
            os.chdir(scratch)
            os.setgroups([])
            os.setgid(owner.st_gid)
            os.setuid(owner.st_uid)
            os.umask(0o022)
            tree = Tree(Path())
            with contextlib.suppress(OSError):
                action(tree)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
