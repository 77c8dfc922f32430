"""What an index of ours lists, as members with their content, checked against their digests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import compress

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.format.tar_reader import Member
from scratchflow.archive.read.archives import Archives, OpenArchive
from scratchflow.archive.read.file_content import damaged_content, placed, zero_pieces
from scratchflow.archive.read.spans import SpanReader
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK

# Neighbours in the tree lie in the same few frames, each in one of a few archives.
_FRAMES_KEPT = 12
_KINDS = {DIRECTORY: "directory", REGULAR: "file", SYMLINK: "symlink"}


class OwnMembers:
    """Iterates over (member, content); further names of a file come after all files.

    With `chosen` only over those entries. Where a file's first name is not among them, the next one is.
    """

    def __init__(
        self, index: Index, open_archive: OpenArchive, chosen: bytearray | None = None
    ) -> None:
        self._index = index
        self._chosen = chosen or bytearray(b"\1") * len(index)
        self._first_of = self._first_names()
        kinds = bytes(compress(index.kinds(), self._chosen))
        self.files = kinds.count(REGULAR >> 12)
        doubled = sum(
            index.size[entry] for entry, first in self._first_of.items() if entry != first
        )
        self.size_bytes = sum(compress(index.size, self._chosen)) - doubled
        self._archives = Archives(index, open_archive)
        self._frames: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def __enter__(self) -> OwnMembers:
        return self

    def __exit__(self, *_: object) -> None:
        self._archives.__exit__()

    def __iter__(self) -> Iterator[tuple[Member, Iterator[memoryview]]]:
        index = self._index
        first_of = self._first_of
        linked = bytearray(len(index))
        for entry, first in first_of.items():
            linked[entry] = entry != first
        others = bytearray(
            each and not link for each, link in zip(self._chosen, linked, strict=True)
        )
        for entry, _, path, _ in index.in_tar_order(others):
            member = self._member(entry, path)  # each name of a file has its place in the archive
            yield member, self._content(entry) if member.kind == "file" else iter(())
        for entry, _, path, _ in index.in_tar_order(linked):
            first_path = index.path(first_of[entry])
            yield Member(path, "hardlink", 0, 0, 0, 0, link=first_path), iter(())

    def _first_names(self) -> dict[int, int]:
        """For each further name of a file that is chosen: the chosen name that comes first."""
        index, chosen = self._index, self._chosen
        firsts: dict[int, int] = {}
        found: dict[int, int] = {}
        for entry, holder in sorted(index.hardlinks.items()):
            if chosen[entry]:
                first = holder if chosen[holder] else firsts.setdefault(holder, entry)
                found[entry] = first
        return found

    def _member(self, entry: int, path: bytes) -> Member:
        index = self._index
        kind = index.mode[entry] & KIND_MASK
        return Member(
            path=path,
            kind=_KINDS[kind],
            mode=index.mode[entry] & 0o7777,
            mtime_ns=index.mtime_ns[entry],
            size=index.size[entry],
            stored=index.stored_size(entry) if kind == REGULAR else 0,
            link=index.target(entry) if kind == SYMLINK else b"",
            extents=index.sparse.get(entry),
            xattrs=index.xattrs.get(entry, {}),
        )

    def _content(self, entry: int) -> Iterator[memoryview]:
        """The stored bytes; SnapshotDamaged after the last one if they are not the right ones."""
        index = self._index
        digest = StreamDigest(seed=index.seed)
        end = 0
        extents = index.sparse.get(entry, [0, index.size[entry]])
        for offset, piece in placed(self._pieces(entry), extents):
            for zeros in zero_pieces(offset - end):
                digest.update(zeros)
            digest.update(piece)
            yield piece
            end = offset + len(piece)
        for zeros in zero_pieces(index.size[entry] - end):
            digest.update(zeros)
        if digest.digest() != index.digest_of(entry):
            raise damaged_content(index, entry)

    def _pieces(self, entry: int) -> Iterator[memoryview]:
        if self._index.is_scattered(entry):
            yield from SpanReader(self._archives, list(self._archives.spans_of(entry))).in_order()
            return
        for number, frame, start, length in self._archives.spans_of(entry):
            yield memoryview(self._frame(number, frame))[start : start + length]

    def _frame(self, number: int, frame: int) -> bytes:
        content = self._frames.pop((number, frame), None)
        if content is None:
            content = self._archives.frame(number, frame)
        self._frames[number, frame] = content
        if len(self._frames) > _FRAMES_KEPT:
            self._frames.popitem(last=False)
        return content
