"""What was ever on the nodes of a cluster, and what every snapshot holds: the memory of the oracle there.

Trees are read from outside, through the directory of the minicluster; snapshots are restored on the login host.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat, read_heartbeat
from tests.cluster.login import APP, ENVIRONMENT
from tests.cluster.minicluster import Minicluster
from tests.oracle.photograph import Node, Photograph, differences, photograph
from tests.oracle.promises import beneath, equal_in_place, may_stay, patterns_of, saved_paths

STORE = "/fsx/alice/store"
BACK = "/fsx/alice/brought-back"
NODES = ("node-1", "node-2", "node-3")
Photographs = Mapping[str, Photograph]


class Broken(AssertionError):
    """A promise was not kept."""


@dataclass
class Page:
    """One step: every photograph that was taken in it, by node, and whether files changed meanwhile."""

    photographs: dict[str, list[Photograph]] = field(default_factory=dict)
    is_moving: bool = False


@dataclass
class Ledger:
    """Remembers every content by its digest, and for every snapshot the tree that it brings back."""

    cluster: Minicluster
    held: dict[str, Photograph] = field(default_factory=dict)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    # A backup that began in the step before may be committed in this one.
    pages: list[Page] = field(default_factory=lambda: [Page(), Page()])

    # -- looking

    def scratch(self, node: str) -> Path:
        return self.cluster.state / "hosts" / node / "scratch" / "alice"

    @property
    def place(self) -> StoreDirectory:
        return StoreDirectory(self.cluster.shared(f"{STORE}/work"))

    def heartbeat(self, node: str) -> Heartbeat | None:
        return read_heartbeat(self.place, node)

    def turn_page(self, *, is_moving: bool) -> None:
        self.pages = [self.pages[-1], Page(is_moving=is_moving)]

    def look(self) -> dict[str, Photograph]:
        """Photographs every node's scratch."""
        taken = {node: self._photograph(node) for node in NODES}
        for node, one in taken.items():
            self.pages[-1].photographs.setdefault(node, []).append(one)
            self.seen |= one.digests
        return taken

    def _photograph(self, node: str) -> Photograph:
        scratch = self.scratch(node)
        return photograph(scratch) if scratch.is_dir() else Photograph()

    # -- snapshots

    @property
    def ids(self) -> list[str]:
        return sorted(self.held)

    @property
    def digests(self) -> set[str]:
        """Every content that a listed snapshot brings back."""
        return set().union(*(one.digests for one in self.held.values()))

    def learn(self) -> None:
        """Restores every snapshot that is new, and looks whether the known ones are still there."""
        if not self.place.directory.is_dir():
            return
        catalogue = read_catalogue(self.place)
        if catalogue.damaged or catalogue.skipped:
            raise Broken(f"the store is damaged: {catalogue.damaged} {catalogue.skipped}")
        listed = {one.id: one for one in catalogue.snapshots}
        if gone := self.held.keys() - listed.keys():
            raise Broken(f"snapshots are gone: {sorted(gone)}")
        new = [one for one in catalogue.snapshots if one.id not in self.held]
        for one, found in zip(new, self._brought_back([one.id for one in new]), strict=True):
            self.held[one.id], self.manifests[one.id] = found, one
            self.counts["snapshots"] += 1
            self.counts[f"snapshots {one.purpose}"] += 1
            self._require_explained(one)

    def compare_all(self) -> None:
        """Every snapshot still brings back, byte for byte, what it brought back at first."""
        for one, found in zip(self.ids, self._brought_back(self.ids), strict=True):
            if result := differences(self.held[one], found, set()):
                raise Broken(f"{one} does not come back as before: {'; '.join(result)}")

    def _brought_back(self, ids: list[str]) -> list[Photograph]:
        if not ids:
            return []
        argv = ["env", *ENVIRONMENT, "python3", f"{APP}/bring_back.py", STORE, BACK, *ids]
        failed = json.loads(self.cluster.exec("-u", "alice", "login", *argv).stdout)
        if failed:
            raise Broken(f"a listed snapshot does not come back: {failed}")
        top = self.cluster.shared(BACK)
        found = [photograph(top / one) for one in ids]
        shutil.rmtree(top)
        self.counts["restores compared"] += len(ids)
        return found

    # -- promises

    def require_nothing_lost(
        self, before: Photographs, after: Photographs, spared: Iterable[str] = ()
    ) -> None:
        """What was on a node is on a node or in a snapshot; `spared` nodes lost their disk."""
        kept = self.digests.union(*(one.digests for one in after.values()))
        for node, one in before.items():
            lost = set() if node in spared else one.digests - kept
            if lost:
                paths = [path for path, found in one.nodes.items() if found.digest in lost]
                raise Broken(f"lost from {node}: the content of {paths}")

    def require_holds(self, snapshot: str, taken: Photograph, *, exactly: bool = False) -> None:
        """The snapshot holds what the photograph shows. Of directories, only an exact one has the mtime."""
        if result := self._missing_in(snapshot, taken, exactly=exactly):
            raise Broken(f"{snapshot} does not hold what was there: {'; '.join(result)}")

    def require_saved(self, taken: Photograph, roots: list[str], what: str) -> None:
        """Some snapshot holds all of it, the files that nobody could read too."""
        wanted = [root for root in roots if os.fsencode(root) in taken.nodes]
        if not beneath(taken, wanted):
            return
        unread = (taken.unreadable & beneath(taken, wanted)) - self._excluded(taken, wanted)
        held = self.digests
        if lost := [path for path in unread if taken.nodes[path].digest not in {"", *held}]:
            raise Broken(f"{what}, but in no snapshot, because nobody could read them: {lost}")
        result = {one: self._missing_in(one, taken, exactly=False) for one in self.ids}
        if all(result.values()):
            nearest = min(result, key=lambda one: len(result[one])) if result else "none"
            raise Broken(f"{what}, but in no snapshot; nearest {nearest}: {result.get(nearest)}")

    def require_in_place(
        self, snapshot: str, node: str, before: Photographs, after: Photographs
    ) -> None:
        """A restore that ended well: the workspace is as the snapshot says, and nothing is beside it."""
        found, wanted, manifest = after[node], self.held[snapshot], self.manifests[snapshot]
        roots = [
            root
            for root in (manifest.workspace, *manifest.also)
            if os.fsencode(root) in wanted.nodes
        ]
        # A further name outside these roots is none of the snapshot's business.
        inside = found.only(beneath(found, roots)).nodes
        result = [
            f"{path!r} is {inside.get(path)} instead of {one}"
            for path, one in wanted.nodes.items()
            if not equal_in_place(one, inside.get(path))
        ]
        result += [
            f"{path!r} is there, and {snapshot} does not hold it"
            for path in beneath(found, roots) - set(wanted.nodes)
            if not may_stay(path, before[node], found)
        ]
        if result:
            raise Broken(f"{node} was given {snapshot}, but {'; '.join(result)}")

    def _excluded(self, taken: Photograph, roots: list[str]) -> set[bytes]:
        bare = Photograph(taken.nodes, set(), taken.ignored)
        return beneath(taken, roots) - saved_paths(bare, roots, patterns_of(taken))

    def _missing_in(self, snapshot: str, taken: Photograph, *, exactly: bool) -> list[str]:
        """How the snapshot differs from what a backup of this tree saves."""
        manifest, held = self.manifests[snapshot], self.held[snapshot]
        roots = [manifest.workspace, *manifest.also]
        saved = saved_paths(taken, roots, patterns_of(taken))
        wanted = taken.only(saved)
        # What could not be read may be there as the snapshot before had it.
        found = held.only(set(held.nodes) - (taken.unreadable - saved))
        if exactly:
            return differences(wanted, found, set())
        return differences(_timeless(wanted), _timeless(found), set())

    def _require_explained(self, manifest: Manifest) -> None:
        """A new snapshot shows a tree that there was; while files change, all that did not change."""
        shown = [one for page in self.pages for one in page.photographs.get(manifest.node, ())]
        shown += [one for name, one in self.held.items() if name != manifest.id]
        result = [self._missing_in(manifest.id, one, exactly=False) for one in shown]
        if not all(result) or not result or manifest.purpose in {"restored", "created"}:
            return
        if not any(page.is_moving for page in self.pages):
            shortest = min(result, key=len)
            raise Broken(f"{manifest.id} ({manifest.purpose}) shows what never was: {shortest}")
        self.counts["snapshots of a tree that moved"] += 1
        self._require_resting(manifest)

    def _require_resting(self, manifest: Manifest) -> None:
        taken = [one for page in self.pages for one in page.photographs.get(manifest.node, ())]
        first, held = taken[0], self.held[manifest.id]
        roots = [manifest.workspace, *manifest.also]
        resting = {
            path
            for path in saved_paths(first, roots, patterns_of(first))
            if all(_timeless_node(one, path) == _timeless_node(first, path) for one in taken)
        }
        ignored = {tuple(sorted(one.ignored.items())) for one in taken}
        wrong = [
            path for path in resting if _timeless_node(held, path) != first.nodes[path].timeless()
        ]
        if wrong and len(ignored) == 1:
            raise Broken(f"{manifest.id} ({manifest.purpose}) lacks what never moved: {wrong}")


def _timeless(taken: Photograph) -> Photograph:
    return Photograph({path: one.timeless() for path, one in taken.nodes.items()})


def _timeless_node(taken: Photograph, path: bytes) -> Node | None:
    found = taken.nodes.get(path)
    return found.timeless() if found else None
