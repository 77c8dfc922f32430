"""Restores an index, or a part of it, into a directory."""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from typing import Literal

import msgspec

from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.progress import Progress, no_progress, usable_cores
from scratchflow.archive.read.archives import Archives, OpenArchive
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore.directories import Directories
from scratchflow.archive.restore.displace import Displacing
from scratchflow.archive.restore.file_restorer import FileRestorer, HelperLost
from scratchflow.archive.restore.link_files import Link, place_links, write_refused
from scratchflow.archive.restore.placer import Placer, Placing, translated
from scratchflow.archive.restore.standing_names import are_one_file, standing_names
from scratchflow.archive.scan.scan import Warn
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, REGULAR, SYMLINK
from scratchflow.disk.trees import remove_tree


class Extracted(msgspec.Struct, frozen=True):
    """What was restored."""

    files: int
    bytes: int


Existing = Literal["refused", "none"]


def extract(  # noqa: PLR0913 - each says something else about where and how
    index: Index,
    open_archive: OpenArchive,
    target: Path | int,
    *,
    warn: Warn,
    select: Selection | None = None,
    threads: int | None = None,
    progress: Progress = no_progress,
    existing: Existing | Displacing = "refused",
    masked: bool = False,
    warm: Path | None = None,
) -> Extracted:
    """Creates everything the index lists beneath `target`, an existing directory.

    What exists there is never overwritten: TargetNotEmpty. With a `Displacing`, files and links are
    replaced, each old or new at any moment, and names of a file are linked to those of it that were not selected and
    are as the index has them; directories that are there stay as they are, and one
    that is really a symlink is refused. `existing="none"` says that nobody else has put, or will put,
    anything there: then processes help.

    Modes are those of the index; `masked`, no wider than the umask allows. `warm` is another copy of the tree
    on this machine: large files that are equal there are read from it instead of the archives.

    A full disk is NoSpace, content that does not match what was stored is SnapshotDamaged. Links
    come after all files; modes and mtimes of directories come last, deepest first.
    """
    chosen = select.entries if select else bytearray(b"\1") * len(index)
    with Archives(index, open_archive) as archives:
        extraction = _Extraction(
            archives, chosen, warn, threads or usable_cores(), progress, masked, warm
        )
        if isinstance(existing, Displacing):
            return extraction.into(target, existing)
        if existing != "none" or isinstance(target, int):
            return extraction.into(target)
        try:
            return extraction.into(target, helped=True)
        except HelperLost:
            for path in target.iterdir():
                remove_tree(path) if path.is_dir() else path.unlink()
            return extraction.into(target)


def would_extract(index: Index, select: Selection | None, scratch: Path | None = None) -> Extracted:
    """What `extract` would say it restored: into an empty place, or in place of what is in `scratch`."""
    chosen = select.entries if select else bytearray(b"\1") * len(index)
    if scratch is None:
        files, links = _files_and_links(index, chosen, {})
    else:
        with DirectoryHandles(index, os.fsencode(scratch)) as handles:
            files, links = _left_to_place(index, chosen, handles)
    return Extracted(len(files) + len(links), sum(index.size[entry] for entry in files))


class _Extraction(msgspec.Struct, frozen=True):
    """What is to be restored, and how."""

    archives: Archives
    chosen: bytearray
    warn: Warn
    threads: int
    progress: Progress
    masked: bool = False
    warm: Path | None = None

    def into(
        self, target: Path | int, displacing: Displacing | None = None, *, helped: bool = False
    ) -> Extracted:
        """All of it into a directory; HelperLost says that it has to be begun again."""
        index = self.archives.index
        with _Target(target) as descriptor:
            warm = os.fsencode(self.warm) if self.warm else b""
            placing = Placing(index, descriptor, self.warn, displacing, self.masked, warm=warm)
            restorer = FileRestorer(
                self.archives,
                placing,
                threads=self.threads,
                progress=self.progress,
                helped=helped,
            )
            placer = placing.placer()
            try:
                links, copied_bytes = self._place_all(placing, placer, restorer)
            except OSError as error:
                raise translated(error, target) from error
            finally:
                placer.close()
        return Extracted(restorer.files + links, restorer.bytes + copied_bytes)

    def _place_all(
        self, placing: Placing, placer: Placer, restorer: FileRestorer
    ) -> tuple[int, int]:
        """Places everything in the order that is safe.

        Returns how many hardlinks there were, and the bytes of those that had to become files.
        """
        index, chosen = self.archives.index, self.chosen
        processes = self.threads if restorer.is_helped else 1
        entries = index.of_kind(DIRECTORY, chosen)
        directories = Directories(placing, placer, entries, processes=processes)
        directories.make()
        if placing.displacing:
            files, links = _left_to_place(index, chosen, placer.handles)
        else:
            files, links = _files_and_links(index, chosen, {})
        late: list[Link] = []
        refused: list[Link] = []

        def link_small(large: set[int]) -> None:
            late.extend(link for link in links if link[1] in large)
            refused.extend(place_links((link for link in links if link[1] not in large), placer))

        restorer.restore(files, link_small)
        refused += place_links(late, placer)
        copied_bytes = write_refused(refused, placer, self.archives, placing)
        for entry in index.of_kind(SYMLINK, chosen):
            placer.symlink(entry)
        directories.finish()
        return len(links), copied_bytes


class _Target:
    """The target as a descriptor that is ours to close."""

    def __init__(self, target: Path | int) -> None:
        self._target = target

    def __enter__(self) -> int:
        if isinstance(self._target, int):
            self._descriptor = os.dup(self._target)
        else:
            self._descriptor = os.open(self._target, os.O_RDONLY | os.O_DIRECTORY)
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _left_to_place(
    index: Index, chosen: bytearray, handles: DirectoryHandles
) -> tuple[array[int], list[Link]]:
    """Files and links to place where names may stand; one that leads to the standing file already is left alone."""
    standing = standing_names(index, chosen, handles)
    files, links = _files_and_links(index, chosen, standing)
    if standing:
        links = [link for link in links if not are_one_file(index, *link, handles)]
    return files, links


def _files_and_links(
    index: Index, chosen: bytearray, standing: dict[int, int]
) -> tuple[array[int], list[Link]]:
    """The files whose content is to be restored, and the further names of some of them.

    When only the second name of a file was chosen, it is restored as the file. Where a name of it is `standing` that
    was not chosen, the chosen ones become links to that.
    """
    files = array("I")
    links: list[Link] = []
    stand_ins: dict[int, int] = {}
    for entry in index.of_kind(REGULAR, chosen):
        first = index.hardlinks.get(entry)
        other = standing.get(entry if first is None else first)
        if other is not None:
            links.append((entry, other))
            continue
        if first is not None and not chosen[first]:
            first = stand_ins.setdefault(first, entry)
        if first is None or first == entry:
            files.append(entry)
        else:
            links.append((entry, first))
    return files, links
