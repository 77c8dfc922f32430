"""Writes a snapshot's archive: members as planned, then the index, then the footer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from scratchflow.archive.cache import ScanCache
from scratchflow.archive.container import Footer, pack_footer
from scratchflow.archive.frame_sink import FrameSink, Out
from scratchflow.archive.index import Index
from scratchflow.archive.index_build import begin_index, finish_index, same_tree, without
from scratchflow.archive.index_codec import dump_index
from scratchflow.archive.member_writer import MemberWriter
from scratchflow.archive.planning import Plan, plan
from scratchflow.archive.progress import Progress, no_progress, usable_cores
from scratchflow.archive.scan import Warn
from scratchflow.archive.tar_headers import END_OF_ARCHIVE
from scratchflow.archive.tree import DIRECTORY, KIND_MASK, REGULAR, Counts

__all__ = ["Item", "Plan", "Progress", "Written", "plan", "write", "write_again"]

Item = Callable[[str, bytes], None]  # (action, path)


@dataclass(frozen=True)
class Written:
    """What was written. `cache` belongs beside the workspace once the snapshot is committed."""

    index: Index
    cache: ScanCache
    archive_bytes: int
    sha256: str
    counts: Counts
    needs: list[str]
    full: bool
    changed_files: int
    changed_bytes: int


def write(
    plan: Plan,
    out: Out | int,
    *,
    archive_id: str,
    warn: Warn,
    level: int = 0,
    threads: int | None = None,
    progress: Progress = no_progress,
    item: Item | None = None,
) -> Written:
    """Writes the archive to `out`, a descriptor or raw file that the caller opened and will fsync.

    What happens to the files it reads is told through `warn` and never ends it; what happens to
    `out` does: NoSpace when the disk or quota is full, the OSError otherwise.
    """
    sink = FrameSink(out, archive_id=archive_id, level=level, threads=threads or usable_cores())
    index = begin_index(plan, archive_id)
    members = MemberWriter(plan.scanned, index, sink, warn)
    try:
        _write_members(plan, members, sink, progress, item)
        sink.put(END_OF_ARCHIVE)
        sink.close()
    except BaseException:
        sink.abort()
        raise
    finally:
        members.close()
    index.members = members.count
    finish_index(index, plan, sink.frames, members.unsettled)
    index = without(index, plan, plan.dropped | members.dropped)
    append_index(index, sink)
    return Written(
        index=index,
        cache=ScanCache.of(plan.scanned, index, index.flags),
        archive_bytes=sink.written,
        sha256=sink.sha256.hexdigest(),
        counts=index.counts(),
        needs=index.needs,
        full=plan.full,
        changed_files=plan.changed_files,
        changed_bytes=plan.changed_bytes,
    )


def write_again(index: Index, cache: ScanCache, out: Out | int, *, archive_id: str) -> Written:
    """An archive that holds no member: another snapshot's tree, all of its content left there.

    `cache` says what the workspace looks like that holds this very tree.
    """
    sink = FrameSink(out, archive_id=archive_id, level=0, threads=1)
    try:
        sink.put(END_OF_ARCHIVE)
        sink.close()
    except BaseException:
        sink.abort()
        raise
    again = same_tree(index, archive_id, cache.flags, sink.frames)
    append_index(again, sink)
    return Written(
        index=again,
        cache=cache.renamed(archive_id),
        archive_bytes=sink.written,
        sha256=sink.sha256.hexdigest(),
        counts=again.counts(),
        needs=again.needs,
        full=False,
        changed_files=0,
        changed_bytes=0,
    )


def _write_members(
    plan: Plan, members: MemberWriter, sink: FrameSink, progress: Progress, item: Item | None
) -> None:
    scanned = plan.scanned
    modes = [scanned.mode[entry] & KIND_MASK for entry in plan.store]
    files_total = modes.count(REGULAR)
    bytes_total = sum(scanned.size[entry] for entry in plan.store)

    def report() -> None:
        progress("store", members.files_done, files_total, members.bytes_done, bytes_total)

    sink.on_frame = report
    chosen = bytearray(len(scanned))
    for entry in plan.store:
        chosen[entry] = 1
    for entry, group, path, name in scanned.in_tar_order(chosen):
        kind = scanned.mode[entry] & KIND_MASK
        if kind == REGULAR:
            members.add_file(entry, group, path, name)
        elif kind == DIRECTORY:
            members.add_directory(entry, group, path, name)
        else:
            members.add_symlink(entry, path)
        if item:
            item("stored", path)
    report()


def append_index(index: Index, sink: FrameSink) -> None:
    """Writes the index and the footer after the last frame."""
    offset = sink.written
    digest = hashlib.sha256()
    for frame in dump_index(index):
        digest.update(frame)
        sink.append(frame)
    footer = Footer(offset, sink.written - offset, digest.digest(), sink.sha256.digest())
    sink.append(pack_footer(footer))
