"""Brings the content of chosen files onto disk, on all cores.

Frames full of small files come first, those with the most recently changed files before others;
then the large files, each with its frames decompressed ahead. Work can begin when the small
files are there: that moment is told as phase `usable`.
"""

from __future__ import annotations

import os
import sys
import threading
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from scratchflow.archive.progress import MAX_FRAME_READERS, Progress, no_progress
from scratchflow.archive.read.archives import Archives
from scratchflow.archive.read.batches import Batch, Unit, batches_of, spread, units_of
from scratchflow.archive.restore.helpers import Done, RestoreHelpers, Work
from scratchflow.archive.restore.placer import Placer, Placing
from scratchflow.archive.restore.warm_files import warm_pieces
from scratchflow.archive.tree.chunks import OlderFile, Part
from scratchflow.archive.tree.index import NOWHERE
from scratchflow.model.errors.snapshots import SnapshotDamaged

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# Fewer files than this for each, and it is not worth starting a helper.
_FILES_EACH = 100
_MAX_HELPERS = 7
# A file of more frames than this is worth several threads, though all processes are at work.
_FRAMES_ALONE = 64

WhenSmall = Callable[[set[int]], None]


def _nothing_more(_large: set[int]) -> None:
    """Does nothing: nobody waits for the small files."""


class HelperLost(Exception):
    """A helper process was killed; what it was writing may be half done."""


class FileRestorer:
    """Restores files on all cores: with threads, or, where it may be `helped`, with processes.

    A helper that is killed leaves nobody knows what: then HelperLost is raised, and whoever asked
    has to begin again in an empty place.
    """

    def __init__(
        self,
        archives: Archives,
        placing: Placing,
        *,
        threads: int,
        progress: Progress,
        helped: bool = False,
        older: Mapping[int, OlderFile] | None = None,
    ) -> None:
        """`older` are files that lie at the place of wanted ones, and may have most of their bytes."""
        self._archives = archives
        self._older = older or {}
        self._index = archives.index
        self._placing = placing
        self._progress = progress
        self._threads = min(threads, MAX_FRAME_READERS)
        self.is_helped = helped
        self._local = threading.local()
        self._placers: list[Placer] = []
        self._total = (0, 0)
        self._pool: ThreadPoolExecutor | None = None
        self._check: Callable[[], None] = lambda: None
        self._placed = 0  # files, also those of a unit that is not finished
        self.meanwhile: Callable[[], None] = lambda: None  # done now and then during a large file
        self._frames_alone = 0  # up to so many frames of a file are decompressed by who writes it
        self.files = 0
        self.bytes = 0

    def restore(self, entries: array[int], when_small: WhenSmall = _nothing_more) -> None:
        """Restores these entries, regular files that are no hardlinks to others.

        `when_small` is called when all but the large ones are there, and is given those.
        """
        small, large = units_of(self._archives, entries)
        self._total = (len(entries), sum(self._index.size[entry] for entry in entries))
        helpers = min(self._threads - 1, _MAX_HELPERS, len(entries) // _FILES_EACH)
        try:
            if self.is_helped and helpers > 0 and sys.platform == "linux":
                self._frames_alone = _FRAMES_ALONE
                self._threads = max(2, self._threads // (helpers + 1))
                _Sharing(self, batches_of(small, large), when_small).run(helpers)
            else:
                self._restore_small(spread(small, self._threads))
                when_small(set(large))
                self.report("usable")
                for entry in large:
                    self._restore_large(entry)
        except BaseException:
            if self._pool:
                self._pool.shutdown(wait=True, cancel_futures=True)
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Ends threads and closes directories."""
        if self._pool:
            self._pool.shutdown()
        for placer in self._placers:
            placer.close()

    def report(self, phase: str) -> None:
        """Reports progress."""
        files_total, bytes_total = self._total
        self._progress(phase, self.files, files_total, self.bytes, bytes_total)

    def do(self, batch: Batch, placed: int = 0) -> None:
        """Restores one batch in this thread; its first `placed` files are there already."""
        for place, entries in batch.units:
            left = entries[placed:]
            placed = max(placed - len(entries), 0)
            if left:
                self.count(*self._restore_unit((place, left)))
        for entry in batch.large[placed:]:
            self._restore_large(entry)

    def helping(self, batches: list[Batch], check: Callable[[], None]) -> Work:
        """The work of a helper process: it opens everything anew and gives back what needs a warning."""
        placing = msgspec.structs.replace(self._placing, warn=_refuse_to_warn)
        twin = FileRestorer(
            self._archives.again(), placing, threads=self._threads, progress=no_progress
        )
        twin._check, twin._frames_alone = check, _FRAMES_ALONE

        def work(batch: int) -> Done:
            placed, size = twin._placed, twin.bytes
            is_whole = True
            try:
                twin.do(batches[batch])
            except Exception:  # noqa: BLE001 - whatever it is, the one who asked will meet it too
                is_whole = False
            return is_whole, twin._placed - placed, twin.bytes - size

        return work

    @property
    def sizes(self) -> array[int]:
        """How long each file is."""
        return self._index.size

    @property
    def target(self) -> int:
        """The descriptor of the directory that everything goes into."""
        return self._placing.target

    def _threads_at_work(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # brings `logging`: not for a single file

        self._pool = self._pool or ThreadPoolExecutor(self._threads, "restore")
        return self._pool

    def _placer(self) -> Placer:
        placer: Placer | None = getattr(self._local, "placer", None)
        if placer is None:
            placer = self._local.placer = self._placing.placer()
            self._placers.append(placer)
        return placer

    def count(self, files: int, size: int) -> None:
        """Notes what was done, and says so."""
        self.files += files
        self.bytes += size
        self.report("restore")

    def _restore_small(self, units: list[Unit]) -> None:
        if len(units) == 1:
            self.count(*self._restore_unit(units[0]))
            return
        pool = self._threads_at_work()
        from concurrent.futures import as_completed

        for done in as_completed([pool.submit(self._restore_unit, unit) for unit in units]):
            self.count(*done.result())

    def _restore_unit(self, unit: Unit) -> tuple[int, int]:
        (number, frame), entries = unit
        index, placer = self._index, self._placer()
        content: Callable[[int], memoryview] = _no_content
        if number != NOWHERE:
            stored = sum(map(index.stored_size, entries))
            content = self._archives.files_in(number, frame, stored)
        for entry in entries:
            self._check()
            placer.small_file(entry, content(entry))
            self._placed += 1
        return len(entries), sum(index.size[entry] for entry in entries)

    def _restore_large(self, entry: int) -> None:
        if not self._patch(entry) and not self._is_taken_from_warm(entry):
            self._write_large(entry)
        self._placed += 1
        # Holes were not written, and are bytes of the file all the same.
        self.count(1, self._index.size[entry] - self._index.stored_size(entry))

    def _is_taken_from_warm(self, entry: int) -> bool:
        """Whether the other copy had it. Whatever is wrong with that one: the archive has the file, too."""
        if not self._placing.warm:
            return False
        try:
            with warm_pieces(self._index, entry, self._placing.warm) as pieces:
                if pieces is None:
                    return False
                self._placer().large_file(entry, self._watched(pieces))
        except (OSError, SnapshotDamaged):
            return False
        self.count(0, self._index.stored_size(entry))
        return True

    def _watched(self, pieces: Iterator[memoryview]) -> Iterator[memoryview]:
        for piece in pieces:
            self._check()
            yield piece
            self.meanwhile()

    def _patch(self, entry: int) -> bool:
        """Makes a file from the one that lies in its place; False when that is not possible, or does not pay."""
        older = self._older.get(entry)
        if older is None:
            return False
        from scratchflow.archive.restore.patch import Patch, is_worthwhile, open_older, stretches

        found = stretches(self._index.chunks[entry], older.chunks)
        if not is_worthwhile(found):
            return False
        placer = self._placer()
        descriptor = open_older(self._index.names[entry], placer.directory_of(entry), older)
        if descriptor is None:
            return False
        done = self.bytes
        patch = Patch(descriptor, found, self._missing(part for one in found for part in one.parts))
        try:
            pieces = lambda target: map(self._counted, patch.apply(target))  # noqa: E731 - short
            is_patched = placer.patched_file(entry, pieces)
        finally:
            os.close(descriptor)
        if not is_patched:  # from archives alone it works, or fails for a reason that can be told
            self.bytes = done
        return is_patched

    def _missing(self, parts: Iterable[Part]) -> Iterator[memoryview]:
        from scratchflow.archive.read.spans import SpanReader

        spans = [span for part in parts for span in self._archives.spans(*part)]
        return SpanReader(self._archives, spans).in_order()

    def _counted(self, piece: memoryview) -> memoryview:
        self._check()
        self.count(0, len(piece))
        self.meanwhile()
        return piece

    def _write_large(self, entry: int) -> None:
        """Writes a file from archives, a very large one with several threads."""
        spans = list(self._archives.spans_of(entry))
        places = {span[:2] for span in spans}
        pool = self._threads_at_work() if len(places) > self._frames_alone else None
        if pool is None and len(places) == len(spans):
            pieces = (piece for span in spans for piece in self._archives.pieces_in(span))
            self._placer().large_file(entry, map(self._counted, pieces))
            return
        from scratchflow.archive.read.spans import SpanReader

        reader = SpanReader(self._archives, spans, pool, self._threads)
        if entry in self._index.sparse:
            self._placer().large_file(entry, map(self._counted, reader.in_order()))
            return

        def write(target: int) -> Generator[memoryview, None, None]:
            with closing(reader.into(target)) as pieces:
                yield from map(self._counted, pieces)

        self._placer().scattered_file(entry, write)


class _Sharing:
    """Restores batches together with helper processes."""

    def __init__(self, restorer: FileRestorer, batches: list[Batch], when_small: WhenSmall) -> None:
        self._restorer = restorer
        self._batches = batches
        self._when_small = when_small
        self._left = set(range(len(batches)))
        self._half_done: dict[int, int] = {}  # batch -> how many of its files are there
        self._small_left = {number for number, batch in enumerate(batches) if batch.units}

    def run(self, helpers: int) -> None:
        """All of them. What a helper could not do is done here, and fails here if it must."""
        restorer, batches = self._restorer, self._batches
        with RestoreHelpers(
            len(batches),
            lambda check: restorer.helping(batches, check),
            helpers,
            (restorer.target,),
        ) as others:
            restorer.meanwhile = lambda: self._hear(others, wait=False)
            self._tell_if_usable()
            while (number := others.next_batch()) is not None:
                restorer.do(batches[number])
                self._tick_off(number)
                self._hear(others, wait=False)
                self._take_over()
            self._hear(others, wait=True)
            self._take_over()
        if self._left:
            raise HelperLost

    def _hear(self, others: RestoreHelpers, *, wait: bool) -> None:
        for number, (is_whole, files, size) in others.reports(wait=wait):
            if is_whole:
                self._restorer.count(files, size)
                self._tick_off(number)
            else:
                self._half_done[number] = files

    def _take_over(self) -> None:
        """Does the rest of what others could not do, from the file on that stopped them."""
        while self._half_done:
            number, placed = self._half_done.popitem()
            done = self._batches[number].entries()[:placed]
            sizes = self._restorer.sizes
            self._restorer.count(placed, sum(sizes[entry] for entry in done))
            self._restorer.do(self._batches[number], placed)
            self._tick_off(number)

    def _tick_off(self, number: int) -> None:
        self._left.remove(number)
        if number in self._small_left:
            self._small_left.remove(number)
            self._tell_if_usable()

    def _tell_if_usable(self) -> None:
        if not self._small_left:
            self._when_small({entry for batch in self._batches for entry in batch.large})
            self._restorer.report("usable")


def _no_content(_entry: int) -> memoryview:
    return memoryview(b"")


def _refuse_to_warn(_code: str, _path: bytes, _text: str) -> None:
    raise RuntimeError("a helper has nobody to warn")
