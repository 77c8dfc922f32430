"""Writes a full archive of ours from any `.tar.lz4`, or from a snapshot whose bytes lie in several.

Whatever is to be done with a foreign archive goes this way, so that one reader, one set of
rules and one extractor stand between its bytes and the disk.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.files.holes import MAX_HOLE_BYTES, hole_allowance
from scratchflow.archive.foreign.lz4_stream import decompressed
from scratchflow.archive.foreign.member_tree import MemberTree, Stored, UnsafePath, safe_path
from scratchflow.archive.foreign.own_members import OwnMembers
from scratchflow.archive.format import tar_headers
from scratchflow.archive.format.stream import PieceReader
from scratchflow.archive.format.tar_headers import END_OF_ARCHIVE, member_header, padding
from scratchflow.archive.format.tar_reader import EndMissing, Member, read_members
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.progress import Progress, no_progress, usable_cores
from scratchflow.archive.read.file_content import with_holes
from scratchflow.archive.scan.scan import Warn
from scratchflow.archive.tree import chunks
from scratchflow.archive.tree.chunks import in_one_piece
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK, Counts
from scratchflow.archive.write.archive_out import FRAME_BYTES, Out
from scratchflow.archive.write.frame_sink import FrameSink
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import ArchiveUnreadable, ArchiveWithoutEnd, UnsafeMember

if TYPE_CHECKING:
    from scratchflow.archive.files.chunker import ContentCutter

_SECOND_NS = 1_000_000_000

# Where a member goes: its path as it is written, from its path in the archive. Empty: nowhere.
Where = Callable[[bytes], bytes]


def unchanged(path: bytes) -> bytes:
    """The name as it is."""
    return path


class Imported(msgspec.Struct, frozen=True):
    """The archive that was written."""

    index: Index
    archive_bytes: int
    digest: str
    counts: Counts


def import_archive(
    path: Path,
    out: Out | int,
    *,
    archive_id: str,
    warn: Warn,
    where: Where = unchanged,
    level: int = 0,
    lists_chunks: bool = False,
    progress: Progress = no_progress,
) -> Imported:
    """Writes the foreign archive at `path` to `out` as a full archive of ours; `lists_chunks` as `write_complete` has it.

    `where` says what becomes of each name. A name that could lead out of a target is UnsafeMember; whatever else is wrong with the file
    is ArchiveUnreadable, or ArchiveWithoutEnd when only its end mark is missing. What a snapshot cannot hold (devices, FIFOs) is left out with a warning.
    """
    sink = FrameSink(out, archive_id=archive_id, level=level, threads=usable_cores())
    importer = _Importer(sink, where, warn, lists_chunks=lists_chunks)
    unchecked: list[str] = []
    total = path.stat().st_size
    importer.holes_left = hole_allowance(total)
    try:
        with path.open("rb") as file:
            stream = PieceReader(decompressed(file, lambda: unchecked.append("frame")))
            sink.on_frame = lambda: progress("import", importer.files, 0, file.tell(), total)
            for member in read_members(stream, warn):
                importer.add(member, stream.pieces(member.stored))
            if stream.drain():
                warn(
                    "archive.more_after_end",
                    b"",
                    "the archive goes on after its end mark; that was not read",
                )
            index = importer.finish()
    except Malformed as error:
        sink.abort()
        raise _refusal(path, error) from error
    except BaseException:
        sink.abort()
        raise
    if unchecked:
        warn(
            "archive.unchecked",
            b"",
            "the archive has no checksums: damage to it would go unnoticed",
        )
    sink.append_index(index)
    return Imported(index, sink.written, sink.digest.text(), index.counts())


def write_complete(
    source: OwnMembers,
    out: Out | int,
    *,
    archive_id: str,
    roots: list[str],
    where: Where = unchanged,
    level: int = 0,
    lists_chunks: bool = False,
    progress: Progress = no_progress,
) -> Imported:
    """Writes members of ours, from whichever archives they lie in, as one full archive.

    Each file's content is compared with its digest: SnapshotDamaged says which one differs. An archive that a later
    backup will refer to `lists_chunks` of large files.
    """
    sink = FrameSink(out, archive_id=archive_id, level=level, threads=usable_cores())
    importer = _Importer(sink, where, _never_needed, lists_chunks=lists_chunks)
    files, size = source.files, source.size_bytes
    sink.on_frame = lambda: progress("store", importer.files, files, min(sink.position, size), size)
    try:
        with source:
            for member, content in source:
                importer.add(member, content)
        index = importer.finish()
    except BaseException:
        sink.abort()
        raise
    index.roots = roots
    sink.append_index(index)
    return Imported(index, sink.written, sink.digest.text(), index.counts())


def _never_needed(_code: str, _path: bytes, _message: str) -> None:
    """Nothing to tell: an index of ours lists nothing odd, or it is told another time."""


def member_names(path: Path) -> Iterator[tuple[bytes, bool]]:
    """The name of every member of a foreign archive, and whether it is a directory."""
    try:
        with path.open("rb") as file:
            stream = PieceReader(decompressed(file, lambda: None))
            for member in read_members(stream, _never_needed):
                yield safe_path(member.path), member.kind == "directory"
    except Malformed as error:
        raise _refusal(path, error) from error


def _refusal(path: Path, error: Malformed) -> ScratchflowError:
    """What the user is told of a foreign archive that is not taken."""
    if isinstance(error, UnsafePath):
        reason, name = error.args
        return UnsafeMember(archive=path, member=os.fsdecode(name), reason=reason)
    if isinstance(error, EndMissing):
        import shlex  # only ever needed on the way to an error

        return ArchiveWithoutEnd(path=path, typed=shlex.quote(str(path)))
    return ArchiveUnreadable.found(path, error)


class _Importer:
    """Writes files as they come; directories and links when all files are there."""

    def __init__(self, sink: FrameSink, where: Where, warn: Warn, *, lists_chunks: bool) -> None:
        self._sink = sink
        self._lists_chunks = lists_chunks
        self._where = where
        self._warn = warn
        self._seed = secrets.randbits(64)
        self._tree = MemberTree()
        self.files = 0
        self.holes_left: int | None = None  # None: as many as there are

    def add(self, member: Member, content: Iterator[memoryview]) -> None:
        """Takes a member; of a file all content is read, exactly `member.stored` bytes."""
        path = self._path(member.path)
        stored = Stored(
            mode=member.mode, mtime_ns=member.mtime_ns, size=member.size, xattrs=member.xattrs
        )
        if not path:
            if member.kind != "directory":
                raise UnsafePath("it has no name", member.path)
            return  # `./`: the directory that everything is restored into
        if member.kind == "file":
            self._put_file(path, member, stored, content)
            self.files += 1
        elif member.kind == "directory":
            stored.mode |= DIRECTORY
        elif member.kind == "symlink":
            stored.mode |= SYMLINK
            stored.target = member.link
        elif member.kind == "hardlink":
            self._tree.add_link(path, self._path(member.link))
            return
        else:
            self._warn("files.skipped", path, f"is {member.kind}, which is not saved")
            return
        self._tree.add(path, stored)

    def _path(self, name: bytes) -> bytes:
        path = safe_path(name)
        return self._where(path) if path else path

    def _put_file(
        self, path: bytes, member: Member, stored: Stored, content: Iterator[memoryview]
    ) -> None:
        stored.mode |= REGULAR
        stored.extents = member.extents
        self._count_holes(member)
        header = _file_header(path, member)
        sink = self._sink
        whole = len(header) + member.stored + padding(member.stored)
        sink.make_room(min(whole, FRAME_BYTES))
        sink.put(header)
        stored.position = sink.position
        digest = StreamDigest(seed=self._seed)
        cutter = self._cutter(member)
        for piece in with_holes(_putting(sink, content, cutter), member.extents, member.size):
            digest.update(piece)
        sink.put(bytes(padding(member.stored)))
        stored.digest = digest.digest()
        if cutter:
            cutter.finish()
            stored.chunks = in_one_piece(cutter.lengths, cutter.digests, 0, stored.position)

    def _cutter(self, member: Member) -> ContentCutter | None:
        if not self._lists_chunks or member.stored < chunks.MIN_CHUNKED_BYTES:
            return None
        from scratchflow.archive.files.chunker import ContentCutter

        return ContentCutter(self._seed)

    def _count_holes(self, member: Member) -> None:
        """Refuses, before any is digested, holes that no honest archive has."""
        holes = member.size - member.stored
        if self.holes_left is None or not holes:
            return
        self.holes_left -= holes
        if holes > MAX_HOLE_BYTES or self.holes_left < 0:
            raise UnsafePath("it has more holes than an archive of this size may have", member.path)

    def finish(self) -> Index:
        index = self._tree.to_index(self._sink.frames.id)
        index.seed = self._seed
        index.archives = [self._sink.frames]
        index.members = self.files
        kinds = index.kinds()
        chosen = bytearray(kind != REGULAR >> 12 for kind in kinds)
        for entry in index.hardlinks:
            chosen[entry] = 1
        for entry, _, path, _ in index.in_tar_order(chosen):
            self._put_header(index, entry, path)
        self._sink.put(END_OF_ARCHIVE)
        self._sink.close()
        return index

    def _put_header(self, index: Index, entry: int, path: bytes) -> None:
        kind, link = tar_headers.DIRECTORY, b""
        if entry in index.hardlinks:
            kind, link = tar_headers.HARDLINK, index.path(index.hardlinks[entry])
        elif index.mode[entry] & KIND_MASK == SYMLINK:
            kind, link = tar_headers.SYMLINK, index.target(entry)
        header = member_header(
            path + b"/" * (kind == tar_headers.DIRECTORY),
            kind=kind,
            mode=index.mode[entry],
            mtime_s=index.mtime_ns[entry] // _SECOND_NS,
            link=link,
            owner=(os.getuid(), os.getgid()),
            records=tar_headers.xattr_records(self._directory_xattrs(index, entry)),
        )
        self._sink.make_room(len(header))
        self._sink.put(header)
        index.members += 1

    def _directory_xattrs(self, index: Index, entry: int) -> dict[bytes, bytes]:
        is_directory = index.mode[entry] & KIND_MASK == DIRECTORY
        return index.xattrs.get(entry, {}) if is_directory else {}


def _putting(
    sink: FrameSink, content: Iterator[memoryview], cutter: ContentCutter | None
) -> Iterator[memoryview]:
    for piece in content:
        sink.put(piece)
        if cutter:
            cutter.update(piece)
        yield piece


def _file_header(path: bytes, member: Member) -> bytes:
    """The member's header as we write it, with the map of a sparse file behind it."""
    prefix = b""
    records = tar_headers.xattr_records(member.xattrs)
    if member.extents is not None:
        prefix = tar_headers.sparse_map(member.size, member.extents)
        records |= tar_headers.sparse_records(path, member.size)
    header = member_header(
        path if member.extents is None else tar_headers.sparse_stand_in(path),
        kind=tar_headers.FILE,
        mode=member.mode,
        mtime_s=member.mtime_ns // _SECOND_NS,
        size=len(prefix) + member.stored,
        owner=(os.getuid(), os.getgid()),
        records=records,
    )
    return header + prefix
