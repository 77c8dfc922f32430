"""Compares members of an archive's tar stream with its index, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.format.stream import PieceReader
from scratchflow.archive.format.tar_headers import CHUNKS_DIRECTORY
from scratchflow.archive.format.tar_reader import Member
from scratchflow.archive.read.chunk_check import ChunkCheck
from scratchflow.archive.read.file_content import with_holes
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK

_SECOND_NS = 1_000_000_000
_KIND_WORDS = {DIRECTORY: "directory", SYMLINK: "symlink", REGULAR: "file"}
_TWICE = "is in the tar stream twice"
MAX_PROBLEMS = 20


class MemberChecker:
    """Members of the archive with this number in its own index, in any order. `problems` says what is wrong."""

    def __init__(self, index: Index, number: int, chunks: ChunkCheck) -> None:
        """`chunks` are those that should lie in the archive."""
        self.index = index
        self.number = number
        self.problems: list[str] = []
        self.members = 0
        self.seen = bytearray(len(index))
        self.chunks = chunks
        # Files that are wrong, unless their path is there once more further on, as in an archive
        # that was appended to.
        self.superseded: dict[int, str] = {}
        # The directories that the last member lies in and is: the next one is often in one of them.
        self._groups: dict[bytes, int] = {}

    def take_right(self, entries: Iterator[int]) -> None:
        """Files and directories whose members are as they should be."""
        for entry in entries:
            self.members += 1
            if self.seen[entry]:
                self._problem(self.index.path(entry), _TWICE)
            self.seen[entry] = 1
            self.superseded.pop(entry, None)

    def check(self, member: Member, stream: PieceReader) -> None:
        """Any member: reads its content, and says what is wrong with it."""
        self.members += 1
        path = member.path.rstrip(b"/")
        entry = self._find(path)
        if entry is None and member.kind == "file" and path.startswith(CHUNKS_DIRECTORY):
            for _ in self.chunks.watch(stream.pieces(member.stored), stream.position):
                pass
            return
        if entry is None:
            self._problem(path, "is in the tar stream, but not in the index")
            return
        if self.seen[entry]:
            self._problem(path, _TWICE)
        is_elsewhere = member.kind == "file" and not self._is_here(entry, stream)
        reason = self._metadata_problem(entry, member) or self._content_problem(
            entry, member, stream
        )
        if reason and is_elsewhere:
            self.superseded[entry] = reason
            return
        self.seen[entry] = 1
        self.superseded.pop(entry, None)
        if reason:
            self._problem(path, reason)

    def _find(self, path: bytes) -> int | None:
        """The entry at this path. Not from the top down each time: directories may nest thousands deep."""
        index = self.index
        parent, _, name = path.rpartition(b"/")
        group = self._groups.get(parent)
        if group is None:
            entry = index.find(path)
            if entry is None:
                return None
            group = index.group_of(entry)
        else:
            entry = index.find_in(group, name)
        self._groups = {parent: group}
        if entry is not None and index.mode[entry] & KIND_MASK == DIRECTORY:
            self._groups[path] = index.group_at(entry)
        return entry

    def _is_here(self, entry: int, stream: PieceReader) -> bool:
        index = self.index
        is_file = index.mode[entry] & KIND_MASK == REGULAR and entry not in index.hardlinks
        return is_file and index.position[entry] == stream.position

    def _metadata_problem(self, entry: int, member: Member) -> str | None:
        index = self.index
        kind = _KIND_WORDS[index.mode[entry] & KIND_MASK]
        if entry in index.hardlinks:
            kind = "hardlink"
        if member.kind != kind:
            return f"is a {member.kind} in the tar stream, a {kind} in the index"
        if member.mode != index.mode[entry] & 0o7777:
            return "has different modes in tar stream and index"
        if member.mtime_ns // _SECOND_NS != index.mtime_ns[entry] // _SECOND_NS:
            return "has different mtimes in tar stream and index"
        if kind == "symlink" and member.link != index.target(entry):
            return "has different targets in tar stream and index"
        if kind == "hardlink" and member.link != index.path(index.hardlinks[entry]):
            return "has different targets in tar stream and index"
        return None

    def _content_problem(self, entry: int, member: Member, stream: PieceReader) -> str | None:
        index = self.index
        if member.kind != "file":
            return None
        if (index.archive[entry], index.position[entry]) != (self.number, stream.position):
            return "is not where the index says"
        if (member.size, member.extents or []) != (index.size[entry], index.sparse.get(entry, [])):
            return "has different sizes in tar stream and index"
        digest = StreamDigest(seed=index.seed)
        stored = self.chunks.watch(stream.pieces(member.stored), stream.position)
        for piece in with_holes(stored, index.sparse.get(entry), index.size[entry]):
            digest.update(piece)
        return None if digest.digest() == index.digest_of(entry) else "does not match its digest"

    def _problem(self, path: bytes, reason: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"`{os.fsdecode(path)}` {reason}")

    def result(self) -> list[str]:
        """The problems, with what can only be told at the end."""
        for entry, reason in self.superseded.items():
            self._problem(self.index.path(entry), reason)
        if self.members != self.index.members:
            self.problems.append("the tar stream has more or fewer members than the index says")
        if self.chunks.unseen:
            count = len(self.chunks.unseen)
            self.problems.append(f"{count} chunks of large files do not match their digests")
        # A file whose chunks are all known needs no member of its own.
        missing = sum(
            1
            for entry, number in enumerate(self.index.archive)
            if number == self.number and not self.seen[entry] and entry not in self.index.chunks
        )
        # A further name of a stored file needs no member of its own when only the name is new.
        missing -= sum(
            1
            for entry in self.index.hardlinks
            if self.index.archive[entry] == self.number
            and not self.seen[entry]
            and entry not in self.index.chunks
        )
        if missing:
            self.problems.append(f"{missing} files of the index are not in the tar stream")
        return self.problems
