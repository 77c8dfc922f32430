"""An index as bytes: columns, shuffled and compressed, one skippable frame for each piece."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import msgspec
from lz4 import block as lz4_block

from scratchflow.archive.format.container import (
    INDEX_MAGIC,
    MAX_EXPANSION,
    skippable_frame,
    split_skippable,
)
from scratchflow.archive.format.index_check import MAX_NAME_BYTES, check_index
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.chunks import Chunks
from scratchflow.archive.tree.index import DIGEST_BYTES, ArchiveFrames, Index
from scratchflow.archive.tree.names import PackedNames

_PIECE_BYTES = 8 << 20
MAX_ENTRIES = 1 << 27

Count = Annotated[int, msgspec.Meta(ge=0)]


class Header(msgspec.Struct, frozen=True):
    """The first frame of an index: what the others hold. Unknown keys are passed over."""

    id: str
    entries: Count
    groups: Count
    symlinks: Count
    hardlinks: Count
    members: Count
    seed: Count
    archives: list[tuple[str, Count]]  # id and number of frames
    pieces: list[tuple[str, Count]]  # column and raw length of each following frame
    digest: str = "xxh3-128"
    roots: list[str] = []  # the workspace and what was saved with it; empty when not known
    chunked: Count = 0  # files whose chunks are listed
    chunks: Count = 0  # of all of them


def dump_index(index: Index) -> Iterator[bytes]:
    """The index as skippable frames; columns are let go of one piece at a time."""
    pieces: list[tuple[str, int]] = []
    packed: list[bytes] = []
    for name, width, raw in _columns(index):
        for start in range(0, len(raw), _PIECE_BYTES):
            piece = bytes(memoryview(raw).cast("B")[start : start + _PIECE_BYTES])
            pieces.append((name, len(piece)))
            packed.append(_pack(_shuffled(piece, width)))
    header = Header(
        id=index.id,
        entries=len(index),
        groups=index.group_count,
        symlinks=len(index.symlinks),
        hardlinks=len(index.hardlinks),
        members=index.members,
        seed=index.seed,
        archives=[(archive.id, len(archive.raw_ends)) for archive in index.archives],
        pieces=pieces,
        roots=index.roots,
        chunked=len(index.chunks),
        chunks=sum(map(len, index.chunks.values())),
    )
    yield skippable_frame(INDEX_MAGIC, msgspec.msgpack.encode(header))
    for content in packed:
        yield skippable_frame(INDEX_MAGIC, content)


def load_index(region: bytes, sha256: bytes, like: Index | None = None) -> Index:
    """Reads an index back and checks all of it; Malformed says what is wrong.

    Most of that can be taken from an index that was loaded before and has the same paths.
    """
    header, pieces = read_header(region, sha256)
    columns = _read_columns(header, pieces)
    index = _fill(header, columns, like)
    check_index(index, like)
    return index


def read_header(region: bytes, sha256: bytes) -> tuple[Header, list[memoryview]]:
    """The header of an index and its other frames, whose number fits; Malformed when any byte is wrong."""
    if hashlib.sha256(region).digest() != sha256:
        raise Malformed("the index is damaged")
    contents = split_skippable(memoryview(region), INDEX_MAGIC)
    if not contents:
        raise Malformed("there is no index")
    try:
        header = msgspec.msgpack.decode(contents[0], type=Header)
    except msgspec.MsgspecError as error:
        raise Malformed(f"the index has a bad header: {error}") from None
    if header.digest != "xxh3-128":
        raise Malformed(f"the index has digests of an unknown kind: {header.digest}")
    _check_counts(header, len(contents) - 1)
    return header, contents[1:]


def _columns(index: Index) -> Iterator[tuple[str, int, Any]]:
    """Every column as (name, bytes an element, bytes-like): the order is that of the file."""
    yield "names", 1, index.names.blob
    for name in ("mode", "size", "mtime_ns", "children", "flags", "archive", "position"):
        column: array[int] = getattr(index, name)
        yield name, column.itemsize, _little_endian(column)
    yield "digest", 1, index.digest
    yield "targets", 1, index.targets.blob
    yield "links", 4, _little_endian(array("I", sum(sorted(index.hardlinks.items()), ())))
    for archive in index.archives:
        yield "raw_ends", 8, _little_endian(archive.raw_ends)
        yield "packed_ends", 8, _little_endian(archive.packed_ends)
    extras = (sorted(index.sparse.items()), sorted(index.xattrs.items()))
    if index.sparse or index.xattrs:
        yield "extras", 1, msgspec.msgpack.encode(extras)
    yield from _chunk_columns(index)


def _chunk_columns(index: Index) -> Iterator[tuple[str, int, Any]]:
    """All chunks, file by file; nothing when no file has any."""
    pairs, lengths, archive, position = array("I"), array("I"), array("H"), array("Q")
    digests = bytearray()
    for entry, chunks in sorted(index.chunks.items()):
        pairs.extend((entry, len(chunks)))
        lengths.extend(chunks.lengths)
        archive.extend(chunks.archive)
        position.extend(chunks.position)
        digests += chunks.digests
    yield "chunked", 4, _little_endian(pairs)
    yield "chunk_lengths", 4, _little_endian(lengths)
    yield "chunk_archives", 2, _little_endian(archive)
    yield "chunk_positions", 8, _little_endian(position)
    yield "chunk_digests", 1, digests


def _little_endian(column: array[int]) -> array[int]:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column


def _shuffled(piece: bytes, width: int) -> bytes:
    # All first bytes, then all second bytes, …: the upper bytes of numbers compress to nothing.
    return piece if width == 1 else b"".join(piece[plane::width] for plane in range(width))


def unshuffled(piece: bytes, width: int) -> bytes | bytearray:
    """A piece with the bytes of each value, of so many bytes, side by side again."""
    if width == 1:
        return piece
    count, rest = divmod(len(piece), width)
    if rest:
        raise Malformed("a piece of the index has an impossible length")
    whole = bytearray(len(piece))
    for plane in range(width):
        whole[plane::width] = piece[plane * count : (plane + 1) * count]
    return whole


def _pack(piece: bytes) -> bytes:
    return bytes(lz4_block.compress(piece, store_size=False))


def unpack_piece(packed: memoryview, raw_bytes: int) -> bytes:
    """One piece of a column as it was packed: shuffled."""
    if not 0 < raw_bytes <= min(_PIECE_BYTES, MAX_EXPANSION * len(packed) + 64):
        raise Malformed("a piece of the index has an impossible length")
    try:
        raw = bytes(lz4_block.decompress(packed, uncompressed_size=raw_bytes))
    except lz4_block.LZ4BlockError as error:
        raise Malformed(f"a piece of the index cannot be decompressed: {error}") from None
    if len(raw) != raw_bytes:
        raise Malformed("a piece of the index is shorter than it says")
    return raw


def _check_counts(header: Header, pieces: int) -> None:
    if pieces != len(header.pieces):
        raise Malformed("the index lacks pieces, or has too many")
    if max(header.entries, header.chunks) > MAX_ENTRIES or header.chunked > header.entries:
        raise Malformed("the index counts more than can be")
    if not 0 < header.groups <= header.entries + 1:
        raise Malformed("the index counts more than can be")


def _read_columns(header: Header, contents: list[memoryview]) -> Callable[[str, int, int], bytes]:
    """A function that takes the next column: (name, bytes an element, elements or -1 for any)."""
    remaining = list(zip(header.pieces, contents, strict=True))[::-1]

    def take(name: str, width: int, count: int) -> bytes:
        whole = bytearray()
        while (
            remaining and remaining[-1][0][0] == name and (count < 0 or len(whole) < count * width)
        ):
            (_, raw_bytes), packed = remaining.pop()
            whole += unshuffled(unpack_piece(packed, raw_bytes), width)
        if count >= 0 and len(whole) != count * width:
            raise Malformed(f"the index has a wrong number of values in `{name}`")
        return bytes(whole) if width == 1 else whole  # type: ignore[return-value]

    return take


def _fill(header: Header, take: Callable[[str, int, int], bytes], like: Index | None) -> Index:
    index = Index(header.id)
    index.members, index.seed, index.roots = header.members, header.seed, header.roots
    names = take("names", 1, -1)
    if like is not None and len(like) == header.entries and like.names.blob == names:
        index.names = like.names
    else:
        index.names = PackedNames.from_blob(names, header.entries, MAX_NAME_BYTES)
    for name in ("mode", "size", "mtime_ns", "children", "flags", "archive", "position"):
        count = header.groups if name == "children" else header.entries
        _fill_array(getattr(index, name), take, name, count)
    index.digest = take("digest", 1, header.entries * DIGEST_BYTES)
    index.targets = PackedNames.from_blob(take("targets", 1, -1), header.symlinks)
    links = array("I")
    _fill_array(links, take, "links", 2 * header.hardlinks)
    index.hardlinks = dict(zip(links[::2], links[1::2], strict=True))
    for archive_id, frames in header.archives:
        archive = ArchiveFrames(archive_id)
        _fill_array(archive.raw_ends, take, "raw_ends", frames)
        _fill_array(archive.packed_ends, take, "packed_ends", frames)
        index.archives.append(archive)
    _fill_extras(index, take("extras", 1, -1))
    if header.chunked or header.chunks:
        _fill_chunks(index, take, header)
    return index


def _fill_chunks(index: Index, take: Callable[[str, int, int], bytes], header: Header) -> None:
    pairs, whole = array("I"), Chunks()
    _fill_array(pairs, take, "chunked", 2 * header.chunked)
    _fill_array(whole.lengths, take, "chunk_lengths", header.chunks)
    _fill_array(whole.archive, take, "chunk_archives", header.chunks)
    _fill_array(whole.position, take, "chunk_positions", header.chunks)
    digests = take("chunk_digests", 1, header.chunks * DIGEST_BYTES)
    entries, counts = pairs[::2], pairs[1::2]
    if sum(counts) != header.chunks or not all(counts) or len(set(entries)) != len(entries):
        raise Malformed("the index has chunks that belong to no file")
    start = 0
    for entry, count in zip(entries, counts, strict=True):
        end = start + count
        index.chunks[entry] = Chunks(
            whole.lengths[start:end],
            whole.archive[start:end],
            whole.position[start:end],
            digests[start * DIGEST_BYTES : end * DIGEST_BYTES],
        )
        start = end


def _fill_array(
    column: array[int], take: Callable[[str, int, int], bytes], name: str, count: int
) -> None:
    if count:
        column.frombytes(take(name, column.itemsize, count))
        if sys.byteorder == "big":
            column.byteswap()


def _fill_extras(index: Index, raw: bytes) -> None:
    if not raw:
        return
    shape = tuple[list[tuple[int, list[int]]], list[tuple[int, dict[bytes, bytes]]]]
    try:
        sparse, xattrs = msgspec.msgpack.decode(raw, type=shape)
    except msgspec.MsgspecError as error:
        raise Malformed(f"the index has bad extras: {error}") from None
    index.sparse, index.xattrs = dict(sparse), dict(xattrs)
