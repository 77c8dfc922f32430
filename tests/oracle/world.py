"""A workspace, a store, and everything that ever was in them: what the oracle acts on and remembers."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.restore import MountInTheWay, RestoreIncomplete
from scratchflow.model.requests import Arguments, Backup, Export, Import, Prune, Restore, Verify
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.results.restore import Restored
from scratchflow.model.results.snapshots import SnapshotsPruned, SnapshotsVerified
from scratchflow.model.results.transfer import SnapshotExported, SnapshotImported
from scratchflow.model.snapshot import Manifest
from tests.oracle.clocks import SteppingClock, WallClock
from tests.oracle.commands import REFUSALS, commands_of
from tests.oracle.desk import Desk
from tests.oracle.killing import Outcome
from tests.oracle.outside import Outside
from tests.oracle.photograph import Photograph, differences, photograph
from tests.oracle.promises import (
    Broken,
    beneath,
    equal_in_place,
    may_stay,
    patterns_of,
    saved_paths,
    wrongly_removed,
)
from tests.oracle.system_calls import SystemCall

T = TypeVar("T")
# What a run counted, over all worlds of this process.
COUNTS: Counter[str] = Counter()
SEEN: set[str] = set()  # every content, by digest
# Promises that are known to be broken, by name: to look for what else is.
PASSED_OVER = set(os.environ.get("SCRATCHFLOW_ORACLE_PASS_OVER", "").split(","))
# Nothing here cuts the power, and a killed process leaves its writes to the kernel.
os.fsync = lambda fd: None  # noqa: ARG005 - its name is part of the call


class World(Desk):
    """One user's workspace and store, and what the oracle knows about them."""

    def __init__(self, directory: Path, *, by_program: bool = False) -> None:
        super().__init__(directory, WallClock() if by_program else SteppingClock())
        self.commands = commands_of(self, _count)
        self.expected: dict[str, Photograph] = {}
        self._unreadable: dict[str, set[bytes]] = {}
        self._manifests: dict[str, Manifest] = {}
        self._listed_before: Sequence[Manifest] = ()
        self._finishing = False
        self._made = 0
        self.outside = Outside(directory / "home", self.scratch)

    # -- commands, each held to its promises

    def backup(self, *, full: bool = False, message: str = "") -> BackupTaken:
        """`backup`: what is there now is in the snapshot that it names."""
        request = Backup(full=full, message=message, allow_shrink=True)
        before = self._photo()
        taken = self._run("backup", before, lambda: self.commands.do(request, BackupTaken))
        assert taken.snapshot
        if taken.kind == "unchanged":
            self._require_equals(taken.snapshot, before)
        return taken

    def restore(self, snapshot: str = "latest", *, replace: bool = False) -> Restored | None:
        """`restore` in place. None when it was refused, which must have changed nothing for good."""
        before = self._photo()
        request = Restore(snapshot=snapshot, replace=replace)
        try:
            done = self._run("restore", before, lambda: self.commands.do(request, Restored))
        except ScratchflowError as error:
            self._after_refusal(error)
            return None
        self._require_in_place(done.snapshot, before)
        return done

    def restore_path(self, snapshot: str, path: bytes) -> Restored | None:
        """`restore --path`: that path and what is beneath is as it was; all else is as it is."""
        before = self._photo()
        request = Restore(snapshot=snapshot, paths=(os.fsdecode(path),))
        try:
            done = self._run("restore --path", before, lambda: self.commands.do(request, Restored))
        except ScratchflowError as error:
            self._after_refusal(error)
            return None
        after = self._photo()
        for inside, node in self.expected[done.snapshot].nodes.items():
            wanted = inside == path or inside.startswith(path + b"/")
            if wanted and inside in after.nodes and not after.is_covered(inside):
                found = after.nodes[inside]
                if (found.kind, found.digest) != (node.kind, node.digest):
                    raise Broken(f"restore --path {path!r} left {inside!r} otherwise: {found}")
        return done

    def restore_to(self, snapshot: str) -> None:
        """`restore --to`: byte for byte what was there when the snapshot was taken."""
        target = self._fresh("to")
        self.commands.do(Restore(snapshot=snapshot, to=str(target)), Restored)
        found = photograph(target)
        self._require_same(snapshot, found)
        COUNTS["restores compared"] += 1
        remove_tree(target)

    def restore_file(self, file: Path, snapshot: str) -> None:
        """`restore --from FILE --replace`: the file's content, and what was there aside."""
        before = self._photo()
        request = Restore(source=str(file), replace=True)
        try:
            done = self._run("restore --from", before, lambda: self.commands.do(request, Restored))
        except MountInTheWay as error:
            self._after_refusal(error)
            return
        after = self._photo()
        roots = ["work", *self.also]
        wanted = self.expected[snapshot]
        placed = {path for path in beneath(wanted, roots) if not after.is_covered(path)}
        wanted, after = wanted.only(placed), after.only(placed)
        for path in placed:
            if not equal_in_place(wanted.nodes[path], after.nodes.get(path)):
                raise Broken(f"restore --from {done.snapshot}: {path!r} is {after.nodes.get(path)}")

    def export(self, snapshot: str) -> Path:
        """`export`: one plain file."""
        file = self._fresh("file.tar.lz4")
        before = self._photo()
        request = Export(file=str(file), snapshot=snapshot)
        self._run("export", before, lambda: self.commands.do(request, SnapshotExported))
        return file

    def import_file(self, file: Path, snapshot: str) -> None:
        """`import`: a snapshot that equals the one that was exported."""
        before = self._photo()
        wanted = self.expected[snapshot], self._unreadable[snapshot]
        call = partial(self.commands.do, Import(file=str(file)), SnapshotImported)
        done = self._run("import", before, call, imported=wanted)
        assert done.snapshot
        self.restore_to(done.snapshot)

    def prune(self) -> None:
        """`prune`: only what no rule keeps."""
        before = self._photo()
        self._run("prune", before, lambda: self.commands.do(Prune(), SnapshotsPruned))

    def verify(self) -> None:
        """`verify`: no false alarm."""
        COUNTS["verify"] += 1
        bad = self.commands.do(Verify(), SnapshotsVerified).bad
        if bad:
            raise Broken(f"verify: {bad[0].id} is called damaged: {bad[0].reason}")

    def damage(self, archive: Path, at: int) -> None:
        """One flipped bit: `verify` names a snapshot. It is flipped back afterwards."""
        content = bytearray(archive.read_bytes())
        content[at % len(content)] ^= 1
        self._overwrite(archive, bytes(content))
        bad = self.commands.do(Verify(), SnapshotsVerified).bad
        content[at % len(content)] ^= 1
        self._overwrite(archive, bytes(content))
        COUNTS["bits flipped"] += 1
        if not bad:
            raise Broken(f"verify finds nothing though bit {at} of {archive.name} was flipped")

    def two_backups(self) -> None:
        """Two at once: both end well, and every snapshot is whole."""
        before = self._photo()
        request = Backup(allow_shrink=True)
        other = self.commands.start(request)
        try:
            self.clock.go_on(1)
            self._run("backup", before, lambda: self.commands.do(request, BackupTaken))
        finally:
            outcome = other()
        self._learn(before, self._photo(), None)
        if outcome != "done":
            raise Broken(f"a backup beside another one was {outcome}: {'; '.join(REFUSALS)}")

    def killed(
        self, command: str, at_call: int, snapshot: str = "latest", call: SystemCall = "write"
    ) -> Outcome:
        """A command that dies at one of its calls: nothing is lost, and the next one goes on."""
        before = self._photo()
        to_kill: dict[str, Arguments] = {
            "backup": Backup(allow_shrink=True),
            "full": Backup(full=True, allow_shrink=True),
            "restore": Restore(snapshot=snapshot),
            "replace": Restore(snapshot=snapshot, replace=True),
            "prune": Prune(),
        }
        self.outside.look()
        outcome = self.commands.kill(to_kill[command], at_call, call)
        self.clock.go_on(10)
        COUNTS["kills"] += outcome == "killed"
        COUNTS[f"killed {command}"] += outcome == "killed"
        after = self._photo()
        self._learn(before, after, None)
        self._require_nothing_lost(before, after)
        self.outside.require_same()
        self._clear_half_made_lock()
        self.usable()
        return outcome

    def usable(self) -> None:
        """The next backup works, or says which command goes on, and that works."""
        try:
            self.backup()
        except RestoreIncomplete:
            self._finish_restore()
            self.backup()

    def _finish_restore(self) -> None:
        self._finishing = True
        try:
            finished = self.restore("latest")
        finally:
            self._finishing = False
        if finished is None:
            COUNTS["restores abandoned"] += 1
            before = self._photo()
            request = Restore(abandon=True)
            self._run("abandon", before, lambda: self.commands.do(request, Restored))

    # -- what is remembered, and compared

    def _run(
        self,
        verb: str,
        before: Photograph,
        action: Callable[[], T],
        imported: tuple[Photograph, set[bytes]] | None = None,
    ) -> T:
        COUNTS[verb] += 1
        COUNTS["beside mounts"] += bool(before.mounts)
        self.outside.look()
        started_s = time.monotonic()
        try:
            return action()
        finally:
            after = self._photo()
            self._learn(before, after, imported)
            self._require_nothing_lost(before, after)
            self.outside.require_same()
            if not verb.startswith(("restore", "abandon")) and before.nodes != after.nodes:
                raise Broken(f"`{verb}` changed the workspace: {differences(before, after, set())}")
            if time.monotonic() - started_s > 30:
                raise Broken(f"`{verb}` took {time.monotonic() - started_s:.0f} s")

    def _photo(self) -> Photograph:
        taken = self.outside.photograph()
        SEEN.update(taken.digests)
        return taken

    def _patterns(self, taken: Photograph) -> Callable[[bytes], Sequence[bytes]]:
        return patterns_of(taken, self.exclude)

    def _learn(
        self,
        before: Photograph,
        after: Photograph,
        imported: tuple[Photograph, set[bytes]] | None,
    ) -> None:
        """Notes what every new snapshot must hold, and looks whether the right ones went."""
        listed = self.listed()
        ids = {one.id for one in listed}
        known = {one.id: one for one in self._listed_before}
        for one in listed:
            if one.id in self.expected:
                continue
            COUNTS["snapshots"] += 1
            self._manifests[one.id] = one
            if one.purpose == "imported" and imported:
                self.expected[one.id], self._unreadable[one.id] = imported
                continue
            seen = after if one.purpose == "restored" else before
            roots = [one.workspace, *one.also]
            saved = saved_paths(seen, roots, self._patterns(seen))
            optional = seen.unreadable & beneath(seen, roots)
            if one.purpose == "restored" and one.parent in self.expected:
                # What was excluded until now stays beside what came back, and the next backup takes it;
                # what is excluded since then came back nevertheless.
                optional |= saved ^ set(self.expected[one.parent].nodes)
            self.expected[one.id] = seen.only(saved - optional)
            self._unreadable[one.id] = optional
        everything = [*known.values(), *(one for one in listed if one.id not in known)]
        wrong = wrongly_removed(everything, ids, self.keep, self.clock.time)
        if wrong and "retention" not in PASSED_OVER:
            raise Broken(f"removed though a rule keeps it: {'; '.join(wrong)}")
        self._listed_before = listed

    def _require_nothing_lost(self, before: Photograph, after: Photograph) -> None:
        kept = after.digests
        for one in self.ids:
            kept |= self.expected[one].digests
        lost = before.digests - kept
        if lost:
            paths = [path for path, node in before.nodes.items() if node.digest in lost]
            raise Broken(f"lost: the content of {paths}")

    def _require_equals(self, snapshot: str, now: Photograph) -> None:
        """Of an unchanged workspace: only the mtimes of directories may differ."""
        roots = ["work", *self.also]
        optional = self._unreadable[snapshot]
        saved = now.only(saved_paths(now, roots, self._patterns(now)) - optional)
        held = self.expected[snapshot]
        held = held.only(set(held.nodes) - now.unreadable - optional)
        wanted = {path: node.timeless() for path, node in held.nodes.items()}
        found = {path: node.timeless() for path, node in saved.nodes.items()}
        result = differences(Photograph(wanted), Photograph(found), set())
        if result:
            raise Broken(f"backup says that {snapshot} is what is there: {result}")

    def _require_same(self, snapshot: str, found: Photograph) -> None:
        wanted, unreadable = self.expected[snapshot], self._unreadable[snapshot]
        kept = found.only(set(found.nodes) - (unreadable - set(wanted.nodes)))
        result = differences(wanted, kept, set())
        if result:
            raise Broken(f"{snapshot} does not come back as it was: {'; '.join(result)}")

    def _require_in_place(self, snapshot: str, before: Photograph) -> None:
        after, wanted = self._photo(), self.expected[snapshot]
        found = after.only(set(wanted.nodes)).nodes  # without names outside the snapshot
        result = [
            f"{path!r} is {found.get(path)} instead of {node}"
            for path, node in wanted.nodes.items()
            if not (equal_in_place(node, found.get(path)) or after.is_covered(path))
        ]
        if result:
            raise Broken(f"restore of {snapshot} ended well, but {'; '.join(result)}")
        manifest = self._manifests[snapshot]
        roots = [
            root
            for root in (manifest.workspace, *manifest.also)
            if os.fsencode(root) in wanted.nodes
        ]
        for path in beneath(after, roots) - set(wanted.nodes) - self._unreadable[snapshot]:
            if not may_stay(path, before, after, self.exclude):
                raise Broken(f"restore of {snapshot} left {path!r}, which it does not hold")

    def _after_refusal(self, error: ScratchflowError) -> None:
        COUNTS["restores refused"] += 1
        COUNTS[f"refused {error.code}"] += 1
        if isinstance(error, RestoreIncomplete) or self._finishing:
            return
        self.usable()

    def _clear_half_made_lock(self) -> None:
        """A lock without an owner makes the next command wait for a minute."""
        lock = self.place.directory / "lock.d"
        if lock.is_dir() and not list(lock.iterdir()):
            COUNTS["locks without an owner"] += 1
            lock.rmdir()

    def _fresh(self, name: str) -> Path:
        self._made += 1
        return self.directory / f"{self._made}-{name}"

    def _overwrite(self, file: Path, content: bytes) -> None:
        with file.open("r+b") as out:
            out.write(content)

    def lose_notes(self) -> None:
        """The scan cache and all other notes beside the workspace are gone."""
        shutil.rmtree(self.scratch / ".scratchflow", ignore_errors=True)

    def close(self) -> None:
        """Every snapshot that is listed restores, for the last time."""
        for one in self.ids:
            if one in self.expected:  # all, but after a failure
                self.restore_to(one)


def _count(what: str) -> None:
    COUNTS[what] += 1
