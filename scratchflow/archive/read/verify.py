"""Reads an archive back and compares everything with everything."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.archive.format.container import (
    Footer,
    frame_blocks,
)
from scratchflow.archive.format.remnant import load_frames
from scratchflow.archive.format.stream import PieceReader
from scratchflow.archive.format.tar_headers import END_OF_ARCHIVE
from scratchflow.archive.format.tar_reader import read_members
from scratchflow.archive.format.whole_digest import XXH3
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.progress import MAX_FRAME_READERS, usable_cores
from scratchflow.archive.read.archive_file import (
    open_index,
    open_regular,
    read_exactly,
    read_footer,
)
from scratchflow.archive.read.archives import OpenArchive
from scratchflow.archive.read.borrowed import verify_borrowed
from scratchflow.archive.read.chunk_check import ChunkCheck, own_chunks
from scratchflow.archive.read.hashed import HashedFile, ReadSoFar
from scratchflow.archive.read.member_check import MAX_PROBLEMS, MemberChecker
from scratchflow.archive.read.plain_members import PlainMembers, plain_entries
from scratchflow.archive.read.segments import Segments, are_right
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.workspace import LimitReached

# Memory for packed frames, used again: fresh memory costs as much as reading.
Rooms = SimpleQueue[bytearray]


def verify_archive(
    path: Path,
    *,
    digest: str | None = None,
    open_archive: OpenArchive | None = None,
    left: ChunkCheck | None = None,
    threads: int | None = None,
    on_index: Callable[[Index], None] = lambda _: None,
) -> list[str]:
    """What is wrong with the archive at `path`; an empty list when nothing is.

    Reads every byte: the digest of the file (against `digest`, which the manifest holds, and
    against the footer), every frame's checksum if there is no `digest`, and the tar stream against the index, file by
    file. With `open_archive` also what the snapshot reads from other archives, see `borrowed`.
    Of an archive of which only a part is left, `left` is what snapshots read from it: what is not there stays unseen.
    `on_index` is given the archive's own index before the rest is read.
    """
    try:
        descriptor = open_regular(path)
    except Malformed as error:
        return [str(error)]
    except OSError as error:
        refuse_own_limit(error)
        return [f"it cannot be opened: {error.strerror}"]
    try:
        check = _Check(path, descriptor, threads or usable_cores(), is_compared=digest is not None)
        problems = check.run(open_archive, left, on_index)
        problems += _compare_digests(descriptor, check.source.finish(), digest)
    except OSError as error:  # the disk gives no answer where its bytes should be
        refuse_own_limit(error)
        return [f"it cannot be read: {error.strerror}"]
    finally:
        os.close(descriptor)
    return problems[:MAX_PROBLEMS]


def verify_bytes(
    path: Path, *, digest: str | None = None, progress: ReadSoFar = lambda _: None
) -> list[str]:
    """Whether the archive's bytes are those that were committed; an empty list when they are.

    Only its digest is compared, with `digest` and with its footer: what was in the archive was
    verified for its commit. An archive whose manifest is gone has only the footer to compare with.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        refuse_own_limit(error)
        return [f"it cannot be opened: {error.strerror}"]
    try:
        if hasattr(
            os, "posix_fadvise"
        ):  # the store's bytes, not what this machine remembers of them
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        source = HashedFile(descriptor, _kind_in_footer(descriptor))
        return _compare_digests(descriptor, source.finish(progress), digest)
    except OSError as error:
        return [f"it cannot be read: {error.strerror}"]
    finally:
        os.close(descriptor)


def _kind_in_footer(descriptor: int) -> str:
    """The digest in the footer, which is of the kind that its manifest has; of one without a footer any will do."""
    try:
        return read_footer(descriptor).content_digest
    except Malformed:
        return XXH3


def _compare_digests(descriptor: int, found: tuple[str, str], expected: str | None) -> list[str]:
    problems = []
    try:
        if read_footer(descriptor).content_digest != found[0]:
            problems.append("its content does not match the digest in its footer")
    except Malformed as error:
        problems.append(str(error))
    if expected is not None and found[1] != expected:
        problems.append("it does not match the digest in its manifest")
    return problems


class _Check:
    """Compares what is in an archive with what its index says, while its bytes are hashed on their way."""

    def __init__(self, path: Path, descriptor: int, threads: int, *, is_compared: bool) -> None:
        """`is_compared` says that the digest of the file will be compared with that in a manifest."""
        self._path = path
        self._descriptor = descriptor
        self._threads = min(threads, MAX_FRAME_READERS)
        self._is_compared = is_compared
        self.source = self._from_the_start()

    def _from_the_start(self) -> HashedFile:
        return HashedFile(self._descriptor, _kind_in_footer(self._descriptor))

    def run(
        self,
        open_archive: OpenArchive | None,
        left: ChunkCheck | None,
        on_index: Callable[[Index], None],
    ) -> list[str]:
        """What is wrong with it."""
        try:
            footer = read_footer(self._descriptor)
            if footer.is_remnant:
                return self._verify_remnant(footer, left)
            index = open_index(self._path)
            on_index(index)
        except LimitReached:
            raise
        except (ScratchflowError, Malformed) as error:
            return [str(error)]
        try:
            problems = _verify_frames(index, footer)
            if not problems:
                problems = self._verify_stream(index)
            return problems + (verify_borrowed(index, open_archive) if open_archive else [])
        except LimitReached:
            raise
        except (ScratchflowError, Malformed) as error:
            return [str(error)]

    def _verify_remnant(self, footer: Footer, left: ChunkCheck | None) -> list[str]:
        """Every frame that is left has its checksum; what is in it is compared with what snapshots list there."""
        region = read_exactly(self._descriptor, footer.index_bytes, footer.index_offset)
        frames = load_frames(region, footer.index_sha256)
        if frames.packed_ends and frames.packed_ends[-1] != footer.index_offset:
            return ["its frames and their list do not meet"]
        with closing(self._frames(frames)) as blocks:
            stream = PieceReader(blocks)
            for start, length in _runs(frames):
                pieces = stream.pieces(length)
                for _ in left.watch(pieces, start) if left else pieces:
                    pass
            stream.at_end()  # so that the last one is hashed
        return []

    def _verify_stream(self, index: Index) -> list[str]:
        """Walks the tar stream beside the index: with others, and again alone if anything is wrong, to say what."""
        number = next(n for n, archive in enumerate(index.archives) if archive.id == index.id)
        if self._is_compared:
            segments = Segments(index, number, self._descriptor)
            if are_right(segments, self.source, self._threads):
                return []
            self.source = self._from_the_start()
        checker = MemberChecker(index, number, ChunkCheck(index.seed, own_chunks(index, number)))
        plain = PlainMembers(index, plain_entries(index, number))
        frames = self._frames(index.archives[number])
        try:
            stream = PieceReader(frames)
            for member in read_members(
                stream, pass_over=lambda stream: checker.take_right(plain.take(stream))
            ):
                checker.check(member, stream)
            rest = stream.read(len(END_OF_ARCHIVE) // 2)  # the first block ended the loop
            if any(rest) or not stream.at_end():
                checker.problems.append("something follows the end of the tar stream")
        finally:
            frames.close()
        return checker.result()

    def _frames(self, frames: ArchiveFrames) -> Generator[memoryview, None, None]:
        """The content of all frames that have any, block by block. Each block holds until the next one is asked for.

        One thread reads the frames in order and hashes them, others decompress.
        """
        rooms: Rooms = SimpleQueue()
        for _ in range(self._threads + 2):
            rooms.put(bytearray())
        with (
            ThreadPoolExecutor(1, "read") as reader,
            ThreadPoolExecutor(self._threads) as pool,
        ):
            waiting: deque[_Coming] = deque()
            for frame, end in enumerate(frames.packed_ends):
                count = end - frames.packed_start(frame)
                if not count:
                    continue
                reading = reader.submit(self._read, rooms, count)
                blocks = pool.submit(_decompressed, reading, frames, frame)
                waiting.append(_Coming(reading, blocks))
                if len(waiting) > self._threads:
                    yield from waiting.popleft().use(rooms)
            while waiting:
                yield from waiting.popleft().use(rooms)

    def _read(self, rooms: Rooms, count: int) -> tuple[bytearray, int]:
        """The next bytes of the file, in a room that is given back when they are not needed any more."""
        room = rooms.get()
        try:
            if len(room) < count:
                room = bytearray(count)
            self.source.fill(memoryview(room)[:count])
        except BaseException:
            rooms.put(room)
            raise
        return room, count


class _Coming(NamedTuple):
    """A frame that threads are at work on."""

    reading: Future[tuple[bytearray, int]]
    blocks: Future[list[memoryview]]

    def use(self, rooms: Rooms) -> Iterator[memoryview]:
        """Its blocks; then its room is free for another one."""
        yield from self.blocks.result()
        rooms.put(self.reading.result()[0])


def _runs(frames: ArchiveFrames) -> Iterator[tuple[int, int]]:
    """Where in the tar stream frames follow each other that have any bytes, and how long that is."""
    packed = zip([0, *frames.packed_ends], frames.packed_ends, strict=False)
    for is_there, run in groupby(enumerate(packed), lambda one: one[1][0] < one[1][1]):
        if is_there:
            numbers = [frame for frame, _ in run]
            start = frames.raw_start(numbers[0])
            yield start, frames.raw_ends[numbers[-1]] - start


def _decompressed(
    reading: Future[tuple[bytearray, int]], frames: ArchiveFrames, frame: int
) -> list[memoryview]:
    """The blocks of a frame, checked against its checksum. They may lie where it was read to."""
    try:
        room, count = reading.result()
        raw_bytes = frames.raw_ends[frame] - frames.raw_start(frame)
        return frame_blocks(memoryview(room)[:count], raw_bytes)
    except (Malformed, OSError) as error:
        refuse_own_limit(error)
        reason = f"{frames.id}.tar.lz4, frame {frame}: {error}"
        raise SnapshotDamaged(snapshot=frames.id, reason=reason) from error


def _verify_frames(index: Index, footer: Footer) -> list[str]:
    own = [archive for archive in index.archives if archive.id == index.id]
    if len(own) != 1:
        return ["the index does not list the frames of its own archive"]
    if not own[0].packed_ends or own[0].packed_ends[-1] != footer.index_offset:
        return ["frames and index do not meet"]
    return []
