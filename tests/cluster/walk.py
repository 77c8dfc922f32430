"""A user's days on a cluster at random: each step is done, then held to what it promises."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial

from scratchflow.model.times import epoch
from tests.cluster.ledger import NODES, Broken
from tests.cluster.minicluster import retry_until
from tests.cluster.steps import VERBS, Step
from tests.cluster.story import Faults
from tests.cluster.user import Ended, User
from tests.oracle.changes import Change, Tree

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
FAULTS = ("scancel", "node", "link", "login", "slurmctld")
PATTERNS = (b"", b"*.o", b"skip", b"a\n*.o", b"b/")
# These need no node of ours; before the others the user types `up`.
_WITHOUT_NODE = {"up", "wipe", "clear"}
_FILES = {"change", "ignore", "make_unreadable", "mend", "wipe"}


class Walk(User):
    """One method for each kind of step."""

    def take(self, step: Step) -> None:
        """One step, and the promises that hold after any."""
        if step.do not in _WITHOUT_NODE and not self.jobs():
            self.up(step)
        self.ledger.counts[f"did {step.do}"] += 1
        getattr(self, step.do)(step)
        if step.do not in _FILES:
            self.require_status()

    # -- the user's files

    def change(self, step: Step) -> None:
        # One after the other, so that each state between is photographed.
        self.as_alice(*(partial(_apply, change) for change in step.changes))

    def ignore(self, step: Step) -> None:
        self.as_alice(lambda tree: tree.ignore(PATTERNS[step.one % len(PATTERNS)]))

    def make_unreadable(self, step: Step) -> None:
        mode = (0o000, 0o200)[step.other % 2]

        def hide(tree: Tree) -> None:
            path = tree.directory(step.one) if step.other % 3 == 0 else tree.file(step.one)
            if os.path.basename(path) not in {b"work", b"env"}:
                os.chmod(path, mode)

        self.as_alice(hide)

    def mend(self, step: Step) -> None:  # noqa: ARG002 - every step is called like this
        self.as_alice(_open_all)

    # -- verbs

    def up(self, step: Step) -> None:
        node = ["--node", NODES[step.one % 3]] if step.other % 4 == 0 and not self.jobs() else []
        ended = self.verb("up", *node)
        if not ended.worked:
            return
        settled = ended.data["workspace"]
        if settled["action"] == "restored":
            snapshot, node_now = settled["snapshot"], ended.data["node"]
            self.ledger.require_in_place(snapshot, node_now, ended.before, ended.after)

    def backup(self, step: Step) -> None:
        options = [["--allow-shrink"], [], ["--full", "--allow-shrink"]][step.one % 3]
        ended = self.verb("backup", *options)
        nodes = list(ended.jobs_before.values())
        if ended.worked and len(nodes) == 1:
            taken, seen = ended.data, ended.before[nodes[0]]
            exactly = taken["kind"] != "unchanged"
            self.ledger.require_holds(taken["snapshot"], seen, exactly=exactly)
            if not taken["unsaved"]:
                self.ledger.require_saved(seen, self.roots, "backup says that all is saved")

    def restore(self, step: Step) -> None:
        ended = self.verb(*self._arguments("restore", step))
        if ended.worked:
            node = list(ended.jobs_before.values())[-1]
            done = ended.data
            self.ledger.require_in_place(done["snapshot"], node, ended.before, ended.after)

    def hop(self, step: Step) -> None:
        ended = self.verb(*self._arguments("hop", step))
        self._require_released(ended)
        if ended.worked and ended.data["snapshot"]:
            snapshot, node = ended.data["snapshot"], ended.data["node"]
            self.ledger.require_in_place(snapshot, node, ended.before, ended.after)

    def clear(self, step: Step) -> None:
        ended = self.verb(*self._arguments("clear", step))
        self._require_released(ended)
        if ended.worked and ended.jobs_after:
            raise Broken(f"clear ended well, and there are jobs: {ended.jobs_after}")

    def autobackup(self, step: Step) -> None:
        self.verb("autobackup", "off" if step.one % 3 == 0 else "on")

    def _set_also(self, roots: list[str]) -> None:
        self.also = roots
        self.story.must("config", "set", "backup.also", str(roots).replace("'", '"'))

    def also_root(self, step: Step) -> None:
        self._set_also(["env"] if step.one % 2 else [])
        if step.other % 2:
            self.as_alice(lambda tree: os.makedirs(os.path.join(tree._scratch, b"env")))

    def wait_for_autobackup(self, step: Step) -> None:  # noqa: ARG002
        """Its heartbeat says that a backup was taken after the last change: then it holds all of it."""
        self.turn_page(is_moving=False)
        before = self.ledger.look()
        nodes = list(self.jobs().values())
        begun_s = time.time()
        if len(nodes) != 1 or not self.is_on(nodes[0]):
            return
        retry_until(lambda: self._has_saved_since(nodes[0], begun_s), "the auto-backup saves")
        result = self.ledger.heartbeat(nodes[0])
        self.ledger.look()
        self.ledger.learn()
        if result and result.last_snapshot and not result.last_error:
            self.ledger.counts["heartbeats believed"] += 1
            self.ledger.require_holds(result.last_snapshot, before[nodes[0]])
            if not result.unsaved:
                roots = ["work"]
                self.ledger.require_saved(before[nodes[0]], roots, "the heartbeat says saved")

    # -- accidents

    def wipe(self, step: Step) -> None:  # noqa: ARG002
        """The site empties the scratch of every node that is not ours."""
        self.turn_page(is_moving=True)
        self.ledger.look()
        for node in set(NODES) - set(self.jobs().values()):
            shutil.rmtree(self.ledger.scratch(node), ignore_errors=True)
        self.ledger.look()
        self.ledger.learn()

    def scancel(self, step: Step) -> None:  # noqa: ARG002
        """By hand. With the auto-backup on, the job's last backup saves everything."""
        self.turn_page(is_moving=False)
        before = self.ledger.look()
        jobs = self.jobs()
        was_on = {node for node in jobs.values() if self.is_on(node)}
        self.story.cluster.exec("login", "scancel", *jobs)
        retry_until(lambda: not self.jobs(), "the jobs are gone")
        for node in was_on:
            retry_until(lambda node=node: not self.is_on(node), "its loop ends")  # type: ignore[misc]
        self.settled(before)
        for node in was_on:
            result = self.ledger.heartbeat(node)
            if result and result.phase == "ended" and not result.last_error and not result.unsaved:
                self.ledger.counts["last backups believed"] += 1
                self.ledger.require_saved(before[node], ["work"], "the job's last backup worked")
            else:
                self.ledger.counts["last backups cut short"] += 1

    def crash_node(self, step: Step) -> None:
        """A power cut; every other time the disk is gone with it."""
        self.turn_page(is_moving=False)
        before = self.ledger.look()
        node = next(filter(None, self.jobs().values()), "node-1")
        self._count_fault("node")
        self.story.cluster.run("crash", node)
        spared = []
        if step.one % 2:
            shutil.rmtree(self.ledger.scratch(node), ignore_errors=True)
            spared.append(node)
        self.story.heal()
        self.settled(before, spared)

    def crash_login(self, step: Step) -> None:
        self._count_fault("login")
        self.verb(*self._meanwhile(step), during=lambda: self.story.cluster.run("crash", "login"))

    def without_slurmctld(self, step: Step) -> None:
        """A verb that finds no slurmctld at all: it fails or works, and loses nothing."""
        self._count_fault("slurmctld")
        self.verb(*self._meanwhile(step), during=self._end_slurmctld)

    def _end_slurmctld(self) -> None:
        """In an orderly way: one that is killed is started again at once."""
        self.story.cluster.exec("login", "scontrol", "shutdown", "slurmctld")
        gone = ["pgrep", "slurmctld"]
        exec_ = self.story.cluster.exec
        retry_until(lambda: exec_("login", *gone, check=False).returncode != 0, "slurmctld ends")

    def kill(self, step: Step) -> None:
        """The verb's process on the laptop dies at some moment."""
        signum = SIGNALS[step.other % len(SIGNALS)]
        self.ledger.counts["kills"] += 1
        self._disturbed(step, lambda process: process.send_signal(signum))

    def disturb(self, step: Step) -> None:
        """Something happens to the cluster at some moment of the verb."""
        fault = FAULTS[step.other % len(FAULTS)]
        self._count_fault(fault)
        faults = Faults(self.story)
        action = self._stop_slurmctld if fault == "slurmctld" else getattr(faults, fault)
        self._disturbed(step, lambda _: action())

    def _stop_slurmctld(self) -> None:
        self.story.cluster.run("stop", "login", "slurmctld")

    def _count_fault(self, fault: str) -> None:
        self.ledger.counts["faults"] += 1
        self.ledger.counts[f"fault {fault}"] += 1

    def _meanwhile(self, step: Step) -> list[str]:
        return [["backup"], ["status"], ["clear"]][step.one % 3]

    def _disturbed(self, step: Step, fault: Callable[[subprocess.Popen[str]], object]) -> None:
        verb = VERBS[step.one % len(VERBS)]
        arguments = self._arguments(verb, step)
        after_s = 0.1 + step.moment * self.took_s.get(verb, 3.0)
        ended = self.verb(*arguments, after_s=after_s, fault=fault)
        if verb in {"clear", "hop"}:
            self._require_released(ended)

    # -- what several steps need

    def _arguments(self, verb: str, step: Step) -> list[str]:
        ids = self.ledger.ids
        if verb == "restore" and ids:
            return ["restore", ids[step.other % len(ids)]]
        if verb == "hop" and step.other % 2:
            free = sorted(set(NODES) - set(self.jobs().values()))
            return ["hop", "--node", free[step.other % len(free)]] if free else ["hop"]
        return [verb]

    def _has_saved_since(self, node: str, begun_s: float) -> bool:
        result = self.ledger.heartbeat(node)
        if result is None or result.phase == "ended" or result.last_error:
            return True
        # Both are whole seconds: only one that is two later began after it.
        return (epoch(result.last_time or "") or 0.0) >= begun_s + 2 + (
            result.last_duration_s or 0.0
        )

    def _require_released(self, ended: Ended) -> None:
        """A node that was given back on purpose had nothing on it that is in no snapshot."""
        if not ended.worked:
            return
        for number, node in ended.jobs_before.items():
            if node and number not in ended.jobs_after:
                self.ledger.counts["releases checked"] += 1
                self.ledger.require_saved(
                    ended.before[node], self.roots, f"{node} was given back by job {number}"
                )

    def finish(self) -> None:
        """After all of it the user works on as ever, and every snapshot still comes back."""
        self.story.heal()
        step = Step("mend", 0, 1, 0.0)
        for do in ("up", "mend", "backup"):
            self.take(step._replace(do=do))
        self.clear(step)
        if self.jobs():
            raise Broken("at the end, with everything mended, clear does not give the node back")
        self.ledger.compare_all()
        if bad := self.story.must("snapshots", "verify")["bad"]:
            raise Broken(f"verify calls snapshots damaged that come back: {bad}")


def _apply(change: Change, tree: Tree) -> None:
    tree.apply(change)


def _open_all(tree: Tree) -> None:  # noqa: ARG001 - called like the others
    """Everything can be read again; what a restore moved aside goes into the workspace."""
    for top in (b"work", b"env"):
        for directory, names, files in os.walk(top):
            os.chmod(directory, 0o755)  # noqa: S103 - as it was
            for name in names:
                path = os.path.join(directory, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o755)  # noqa: S103 - as it was
            for name in files:
                path = os.path.join(directory, name)
                if not os.path.islink(path) and os.lstat(path).st_mode & 0o400 == 0:
                    os.chmod(path, 0o644)
    for name in sorted(os.listdir(b".")):
        if b".before-" in name:
            os.rename(name, os.path.join(b"work", name.replace(b".before-", b"-kept-")))
