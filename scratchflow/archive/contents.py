"""Brings the content of chosen files onto disk: every frame is read once, on all cores.

Frames full of small files come first, those with the most recently changed files before others;
then the large files, each with its frames decompressed ahead. Work can begin when the small
files are there: that moment is told as phase `usable`.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from scratchflow.archive.index import NOWHERE, Index
from scratchflow.archive.placing import Placer
from scratchflow.archive.progress import Progress
from scratchflow.archive.reader import Archives

_EMPTY = (NOWHERE, 0)
_EMPTY_FILES_A_UNIT = 512
_LOTS_A_THREAD = 4
_MIN_FILES_A_LOT = 16


class FileRestorer:
    """Restores files with a pool of threads, each with a Placer of its own."""

    def __init__(
        self,
        archives: Archives,
        make_placer: Callable[[], Placer],
        *,
        threads: int,
        progress: Progress,
    ) -> None:
        self._archives = archives
        self._index = archives.index
        self._make_placer = make_placer
        self._progress = progress
        self._threads = threads
        self._local = threading.local()
        self._placers: list[Placer] = []
        self._total = (0, 0)
        self.files = 0
        self.bytes = 0

    def restore(
        self, entries: array[int], when_small: Callable[[set[int]], None] = lambda _large: None
    ) -> None:
        """Restores these entries, regular files that are no hardlinks to others.

        `when_small` is called when all but the large ones are there, and is given those.
        """
        small, large = _units(self._archives, entries)
        small = _spread(small, self._threads)
        self._total = (len(entries), sum(self._index.size[entry] for entry in entries))
        try:
            with ThreadPoolExecutor(self._threads, "restore") as pool:
                try:
                    self._restore_small(pool, small)
                    when_small(set(large))
                    self._report("usable")
                    self._restore_large(pool, large)
                except BaseException:
                    pool.shutdown(wait=True, cancel_futures=True)
                    raise
        finally:
            for placer in self._placers:
                placer.close()

    def _report(self, phase: str) -> None:
        files_total, bytes_total = self._total
        self._progress(phase, self.files, files_total, self.bytes, bytes_total)

    def _placer(self) -> Placer:
        placer: Placer | None = getattr(self._local, "placer", None)
        if placer is None:
            placer = self._local.placer = self._make_placer()
            self._placers.append(placer)
        return placer

    def _restore_small(self, pool: ThreadPoolExecutor, units: list[_Unit]) -> None:
        for done in as_completed([pool.submit(self._restore_unit, unit) for unit in units]):
            files, size = done.result()
            self.files += files
            self.bytes += size
            self._report("restore")

    def _restore_unit(self, unit: _Unit) -> tuple[int, int]:
        (number, frame), entries = unit
        index, placer = self._index, self._placer()
        if number == NOWHERE:
            for entry in entries:
                placer.small_file(entry, memoryview(b""))
            return len(entries), sum(index.size[entry] for entry in entries)
        stored = sum(map(index.stored_size, entries))
        content = self._archives.files_in(number, frame, stored)
        for entry in entries:
            placer.small_file(entry, content(entry))
        return len(entries), sum(index.size[entry] for entry in entries)

    def _restore_large(self, pool: ThreadPoolExecutor, entries: list[int]) -> None:
        placer = self._make_placer()
        self._placers.append(placer)
        for entry in entries:
            placer.large_file(entry, self._pieces(pool, entry))
            self.files += 1
            self._report("restore")

    def _pieces(self, pool: ThreadPoolExecutor, entry: int) -> Iterator[memoryview]:
        """The stored content of a file, some frames decompressed ahead of what is asked for."""
        number = self._index.archive[entry]
        ahead: deque[tuple[int, Future[bytes]]] = deque()
        frames = iter(self._archives.frames_of(entry))
        for frame in frames:
            ahead.append((frame, pool.submit(self._archives.frame, number, frame)))
            if len(ahead) > self._threads:
                break
        while ahead:
            frame, reading = ahead.popleft()
            piece = self._archives.cut(entry, frame, reading.result())
            following = next(frames, None)
            if following is not None:
                ahead.append((following, pool.submit(self._archives.frame, number, following)))
            yield piece
            self.bytes += len(piece)
            self._report("restore")


_Unit = tuple[tuple[int, int], "array[int]"]  # (archive number, frame), and the files inside


def _units(archives: Archives, entries: Iterable[int]) -> tuple[list[_Unit], list[int]]:
    """Files by the one frame that holds them, and apart from them those that span several."""
    index = archives.index
    by_frame: dict[tuple[int, int], array[int]] = {}
    units: list[_Unit] = []
    large: list[int] = []
    empty = array("I")
    for entry in entries:
        frames = archives.frames_of(entry)
        if len(frames) > 1:
            large.append(entry)
        elif frames:
            place = (index.archive[entry], frames[0])
            by_frame.setdefault(place, array("I")).append(entry)
        else:
            empty.append(entry)
    units.extend(by_frame.items())
    units.extend(
        (_EMPTY, empty[start : start + _EMPTY_FILES_A_UNIT])
        for start in range(0, len(empty), _EMPTY_FILES_A_UNIT)
    )
    units.sort(key=lambda unit: -_newest(index, unit[1]))
    large.sort(key=lambda entry: -index.mtime_ns[entry])
    return units, large


def _spread(units: list[_Unit], threads: int) -> list[_Unit]:
    """Units that keep all threads busy: what few frames hold is cut into smaller lots.

    A frame is then read by several threads. That costs less than one thread alone would take
    to put its files in place.
    """
    if len(units) >= threads * _LOTS_A_THREAD:
        return units
    files = sum(len(entries) for _, entries in units)
    lot = max(_MIN_FILES_A_LOT, files // (threads * _LOTS_A_THREAD))
    return [
        (place, entries[start : start + lot])
        for place, entries in units
        for start in range(0, len(entries), lot)
    ]


def _newest(index: Index, entries: array[int]) -> int:
    return max(index.mtime_ns[entry] for entry in entries)
