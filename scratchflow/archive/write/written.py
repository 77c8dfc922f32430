"""What was written, and the archive that needs no content: it lists another one's."""

from __future__ import annotations

import msgspec

from scratchflow.archive.format.container import MAX_PACKED_BYTES, compress_frame
from scratchflow.archive.format.tar_headers import END_OF_ARCHIVE
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import Counts
from scratchflow.archive.write.archive_out import ArchiveOut, Out
from scratchflow.archive.write.index_builder import same_tree


class Written(msgspec.Struct, frozen=True):
    """What was written. `cache` belongs beside the workspace once the snapshot is committed."""

    index: Index
    cache: ScanCache
    archive_bytes: int
    digest: str
    counts: Counts
    needs: list[str]
    full: bool
    changed_files: int
    changed_bytes: int


def write_again(index: Index, cache: ScanCache, out: Out | int, *, archive_id: str) -> Written:
    """An archive that holds no member: another snapshot's tree, all of its content left there.

    `cache` says what the workspace looks like that holds this very tree.
    """
    archive = ArchiveOut(out, archive_id)
    packed = memoryview(bytearray(MAX_PACKED_BYTES))
    length = compress_frame(memoryview(END_OF_ARCHIVE), 0, packed)
    archive.add_frame(packed[:length], len(END_OF_ARCHIVE))
    again = same_tree(index, archive_id, cache.flags, archive.frames)
    archive.append_index(again)
    return Written(
        index=again,
        cache=cache.renamed(archive_id),
        archive_bytes=archive.written,
        digest=archive.digest.text(),
        counts=again.counts(),
        needs=again.needs,
        full=False,
        changed_files=0,
        changed_bytes=0,
    )
