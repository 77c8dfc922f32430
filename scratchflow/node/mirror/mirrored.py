"""What is on the mirror: which snapshots are there whole, and which archives nothing there relies on.

Archives are sent before the manifests that name them. So an archive that a manifest there names arrived whole, and one
that none names may be what a cut left of it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from pathlib import Path

from scratchflow.cluster.rclone.remote import DIRECTORY, Remote
from scratchflow.model.errors.transfer import MirrorForeign
from scratchflow.model.snapshot import Manifest, is_snapshot_id
from scratchflow.store.catalogue import decoded_manifest, needed_archives
from scratchflow.store.directory import ARCHIVE_SUFFIX, MANIFEST_SUFFIX, STORE_NAME
from scratchflow.store.identity import ID_LIMIT_BYTES, id_in

# What newer versions of rclone call a file until it is whole.
_PARTIAL = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}\.(?:tar\.lz4|json)\..*\.partial", re.ASCII)


class Mirrored:
    """A listing of the mirror, with the manifests of this store that it is compared with."""

    def __init__(
        self,
        remote: Remote,
        ours: Iterable[tuple[Manifest, int]] = (),
        size_here: Callable[[str], int] = lambda _: 0,
    ) -> None:
        """`ours`: each with the size of its manifest's file; `size_here`: that of an archive of this store."""
        self._remote = remote
        self._size_here = size_here
        self.reasons: dict[str, str] = {}  # why manifests that were fetched cannot be used
        self._ours = {manifest.id: (manifest, size) for manifest, size in ours}
        self.files = remote.listed()

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all manifests there, readable or not, oldest first."""
        stems = (
            name.removesuffix(MANIFEST_SUFFIX)
            for name in self.files
            if name.endswith(MANIFEST_SUFFIX)
        )
        return sorted(stem for stem in stems if is_snapshot_id(stem))

    @property
    def partial(self) -> list[str]:
        """Files that rclone did not finish."""
        return [name for name in self.files if _PARTIAL.fullmatch(name)]

    def require_of(self, store_id: str) -> bool:
        """Whether the mirror is marked as this store's; MirrorForeign when it is another's."""
        found = self.store_id()
        if found and found != store_id:
            raise MirrorForeign(mirror=self._remote.directory)
        return bool(found)

    def store_id(self) -> str:
        """The id of the store that the mirror is of; empty when nothing says so yet."""
        if not 0 < self.files.get(STORE_NAME, 0) <= ID_LIMIT_BYTES:
            return ""
        content = b"".join(self._remote.pieces(STORE_NAME))
        return id_in(content) or ""  # a cut may have left half of it

    @cached_property
    def manifests(self) -> dict[str, Manifest]:
        """Every manifest there that can be read. Those that are the same here are not fetched."""
        same = {one: self._ours[one][0] for one in self.ids if self._is_as_here(one)}
        return {**same, **self.fetched(one for one in self.ids if one not in same)}

    def fetched(self, snapshots: Iterable[str]) -> dict[str, Manifest]:
        """These manifests as they are there, without those that are damaged or half."""
        return {one: manifest for one, (manifest, _) in self.contents(snapshots).items()}

    def contents(self, snapshots: Iterable[str]) -> dict[str, tuple[Manifest, bytes]]:
        """The same, with the bytes of each."""
        names = (f"{one}{MANIFEST_SUFFIX}" for one in snapshots)
        wanted = [one for one in names if not self.is_directory(one) and one in self.files]
        if not wanted:
            return {}
        found = {}
        with tempfile.TemporaryDirectory(prefix="scratchflow-") as directory:
            self._remote.fetch(wanted, Path(directory))
            for file in Path(directory).iterdir():
                content, snapshot = file.read_bytes(), file.name.removesuffix(MANIFEST_SUFFIX)
                try:
                    found[snapshot] = decoded_manifest(snapshot, content), content
                except ValueError as error:
                    self.reasons[snapshot] = str(error)
        return found

    def has(self, manifest: Manifest) -> bool:
        """Whether this snapshot of ours is there, with all that it needs."""
        there = self._manifest(manifest.id)
        if there is None or self.archive_bytes(there.id) != there.archive_bytes:
            return False
        return all(
            self.archive_bytes(one) is not None and not self.is_wrong(one) for one in there.needs
        )

    def is_wrong(self, archive: str) -> bool:
        """Whether it is there, and not as large as its manifest there says: nothing can be restored from it."""
        found, manifest = self.archive_bytes(archive), self._manifest(archive)
        if found is None or manifest is None or found == manifest.archive_bytes:
            return False
        # Of a snapshot that was pruned here, the store may have had only a part to send.
        return archive in self._ours or found != self._size_here(archive)

    def blocking(self, manifest: Manifest) -> list[str]:
        """The archives there that keep this snapshot from being sent: wrong, or others of the same name, and manifests there name them."""
        return [one for one in sorted(needed_archives(manifest)) if self._is_in_the_way(one)]

    def directories(self, manifest: Manifest) -> list[str]:
        """The names of this snapshot's files that directories have there. Nothing can be sent in their place."""
        archives = (f"{one}{ARCHIVE_SUFFIX}" for one in sorted(needed_archives(manifest)))
        names = [*archives, f"{manifest.id}{MANIFEST_SUFFIX}"]
        return [name for name in names if self.is_directory(name)]

    def is_directory(self, name: str) -> bool:
        """Whether a directory has this name there."""
        return self.files.get(name) == DIRECTORY

    def _is_in_the_way(self, archive: str) -> bool:
        found = self.archive_bytes(archive)
        if found in (None, DIRECTORY) or archive not in self.relied_on:
            return False
        ours = self._ours.get(archive)
        return self.is_wrong(archive) or (ours is not None and found != ours[0].archive_bytes)

    def _manifest(self, snapshot: str) -> Manifest | None:
        """As it is there; None when it is not, or half."""
        if self._is_as_here(snapshot):
            return self._ours[snapshot][0]
        # The same snapshot may be there in other archives: `snapshots copy` brings such ones.
        is_there = f"{snapshot}{MANIFEST_SUFFIX}" in self.files
        return self.manifests.get(snapshot) if is_there else None

    def archive_bytes(self, archive: str) -> int | None:
        """The size of an archive there; None when it is not there."""
        return self.files.get(f"{archive}{ARCHIVE_SUFFIX}")

    @cached_property
    def relied_on(self) -> Collection[str]:
        """The archives that manifests there name."""
        return {archive for one in self.manifests.values() for archive in needed_archives(one)}

    def _is_as_here(self, snapshot: str) -> bool:
        ours = self._ours.get(snapshot)
        return ours is not None and self.files.get(f"{snapshot}{MANIFEST_SUFFIX}") == ours[1]
