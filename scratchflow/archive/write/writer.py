"""Writes a snapshot's archive: members as planned, then the index, then the footer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scratchflow.archive.compare.plan import Plan, plan
from scratchflow.archive.format.index_check import check_references
from scratchflow.archive.format.tar_headers import BLOCK, END_OF_ARCHIVE
from scratchflow.archive.progress import Progress, no_progress, usable_cores
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.scan import Warn
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import Out
from scratchflow.archive.write.batches import Bundle, bundles, large_files_of
from scratchflow.archive.write.frame_sink import FrameSink
from scratchflow.archive.write.index_builder import begin_index, finish_index, without
from scratchflow.archive.write.locations import MemberNotes
from scratchflow.archive.write.member_writer import MemberWriter
from scratchflow.archive.write.packer import Packing, unpacked_notes
from scratchflow.archive.write.packer_pool import Frame, Packers
from scratchflow.archive.write.written import Written

if TYPE_CHECKING:
    from scratchflow.archive.write.large_files import LargeFiles

__all__ = ["Item", "Plan", "Progress", "plan", "write"]

# Beyond this many, one thread that hashes what they make is the limit.
_MAX_PACKERS = 8
# Less than this for each, and it is not worth starting one.
_BYTES_EACH = 8 << 20

Item = Callable[[str, bytes], None]  # (action, path)


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
    cores = threads or usable_cores()
    index = begin_index(plan, archive_id)
    files_total, bytes_total = plan.scanned.files_among(plan.store)
    count = _worthwhile_packers(len(plan.store) * BLOCK + bytes_total, cores)
    # Processes before threads: a fork copies only the thread that forks.
    with Packers(lambda: Packing(plan.scanned, plan.seed, level), count) as packers:
        large = _large_files(plan, len(index.archives))
        sink = FrameSink(out, archive_id=archive_id, level=level, threads=cores)
        try:
            members = _Members(plan, index, sink, packers, large, warn)
            members.write(files_total, bytes_total, progress, item)
            packers.dismiss()
            sink.put(END_OF_ARCHIVE)
            sink.close()
        except BaseException:
            sink.abort()
            raise
        index.members = members.count
        unsettled, dropped = members.writer.unsettled, members.writer.dropped
        finish_index(index, plan, sink.frames, unsettled, dropped)
        index = without(index, plan, dropped)
        check_references(
            index
        )  # whatever went wrong above: what nobody could open is not committed
        sink.append_index(index)
    return Written(
        index=index,
        cache=ScanCache.of(plan.scanned, index, index.flags),
        archive_bytes=sink.written,
        digest=sink.digest.text(),
        counts=index.counts(),
        needs=index.needs,
        full=plan.full,
        changed_files=plan.changed_files,
        changed_bytes=plan.changed_bytes,
    )


def _worthwhile_packers(stored_bytes: int, cores: int) -> int:
    """How many processes it takes: none for what is done before they would have begun."""
    return min(cores, _MAX_PACKERS, stored_bytes // _BYTES_EACH) if cores > 1 else 0


def _large_files(plan: Plan, own: int) -> LargeFiles | None:
    """Those that are cut into chunks; nothing that cuts is loaded where there are none."""
    entries = large_files_of(plan.scanned, plan.store)
    if not entries:
        return None
    from scratchflow.archive.write.large_files import LargeFiles

    return LargeFiles(plan, entries, own)


class _Members:
    """Writes what the plan says to the sink, with the help of packers."""

    def __init__(
        self,
        plan: Plan,
        index: Index,
        sink: FrameSink,
        packers: Packers,
        large: LargeFiles | None,
        warn: Warn,
    ) -> None:
        self._plan = plan
        self._index = index
        self._number = len(index.archives)
        self._sink = sink
        self._packers = packers
        self.writer = MemberWriter(plan.scanned, plan.seed, sink, warn, plan.dropped, large)
        self.count = 0

    def write(
        self, files_total: int, bytes_total: int, progress: Progress, item: Item | None
    ) -> None:
        """Every member, in order."""
        scanned, sink = self._plan.scanned, self._sink
        files = done = 0
        began: int | None = None  # where a file begins that takes a while

        def report() -> None:
            of_it = 0 if began is None else sink.position - began
            progress("store", files, files_total, min(done + of_it, bytes_total), bytes_total)

        sink.on_frame = report
        chosen = bytearray(len(scanned))
        for entry in self._plan.store:
            chosen[entry] = 1
        # With a header each, and half a block on average that fills the last one up.
        expected_bytes = bytes_total + len(self._plan.store) * (BLOCK + BLOCK // 2)
        waiting = bundles(scanned, scanned.in_tar_order(chosen), expected_bytes)
        try:
            for bundle, frame in self._packers.pack(waiting):
                began = None if bundle.fits_frame else sink.position
                notes = self._put(bundle, frame)
                began = None
                self.count += notes.members
                files, done = files + notes.files, done + notes.bytes
                if item:
                    for _, _, path, _ in bundle.members:
                        item("stored", path)
        finally:
            self.writer.close()
        report()

    def _put(self, bundle: Bundle, frame: Frame | None) -> MemberNotes:
        if frame and self._still_holds(bundle):
            notes = unpacked_notes(frame.notes)
            base = self._sink.put_frame(frame.packed, frame.raw_bytes, frame.release)
            notes.enter(self._index, self._number, base)
            return notes
        if frame:
            frame.release()
        notes = self.writer.add(bundle.members)
        notes.enter(self._index, self._number, 0)
        return notes

    def _still_holds(self, bundle: Bundle) -> bool:
        """Whether the names that a packer linked to are still those to link to."""
        writer, links = self.writer, self._plan.scanned.hardlinks
        if not (writer.dropped or writer.relinked):
            return True
        entries = [member[0] for member in bundle.members]
        return writer.relinked.isdisjoint(entries) and writer.dropped.isdisjoint(
            links.get(entry, -1) for entry in entries
        )
