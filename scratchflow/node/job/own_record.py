"""What a task's record says by now: where it is, and what of it is in the store, of this run and of earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.cluster.slurm.batch.further import further_nodes, is_on_several
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.job import JobRecord, TaskRecord
from scratchflow.model.results.jobs import FurtherEnded
from scratchflow.model.times import iso_time
from scratchflow.node.context import NodeContext
from scratchflow.node.job.collect import Collected
from scratchflow.store.checks.writable import write_failure
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.outputs import outputs_of_tasks
from scratchflow.store.jobs.records import job_directory, write_task
from scratchflow.store.jobs.saved_rest import forget_saved_rests, read_saved_rests, with_notes

_GOT = {"cpus": "SLURM_CPUS_ON_NODE", "memory_mb": "SLURM_MEM_PER_NODE", "gpus": "SLURM_GPUS"}


class OwnRecord:
    """The record of a task that runs: `said` is what it says, in the store once it was told."""

    def __init__(
        self, here: NodeContext, place: StoreDirectory, record: JobRecord, said: TaskRecord
    ) -> None:
        self.said = said
        self._here, self._place, self._record = here, place, record
        # Of earlier runs: what is behind these was not saved, and will not be.
        self._links_before = said.links_out

    def tell(self, **changes: Any) -> None:
        """Changes what it says, and writes it."""
        self.change(**changes)
        write_task(self._place, self._record.id, self.said)

    def change(self, **changes: Any) -> None:
        """The same, written when it is told next."""
        self.said = msgspec.structs.replace(self.said, **changes)

    def now(self) -> str:
        return iso_time(self._here.now().timestamp()) or ""

    def count(self, found: Collected) -> None:
        """What was collected of this run, beside what there is of earlier ones."""
        said = self.said
        self.change(
            collected_files=said.earlier_files + found.files,
            collected_bytes=said.earlier_bytes + found.bytes,
            collected_paths=list(found.paths),
            not_collected=list(found.failed),
            left_out=list(found.left_out),
            links_out=[*dict.fromkeys([*self._links_before, *found.links_out])],
            # Of several nodes, another one may have it.
            unmatched=[] if said.further_nodes else list(found.unmatched),
            collected_time=self.now(),
        )

    def count_earlier(self) -> None:
        """What lies in the store of earlier runs. The next job on a node may have saved some of it since."""
        outputs = job_directory(self._place, self._record.id).outputs(self.said.task)
        found = outputs_of_tasks(self._place, self._record, (self.said.task,))
        aside = [one for one in found if not one.file.is_relative_to(outputs)]
        self.change(
            collected_files=len(found),
            collected_bytes=sum(one.size_bytes for one in found),
            earlier_files=len(aside),
            earlier_bytes=sum(one.size_bytes for one in aside),
        )

    def count_further(self, others: list[FurtherEnded]) -> None:
        """What further nodes have saved counts as well; one that says nothing may have it still."""
        said = self.said
        silent = set(said.further_nodes) - {one.node for one in others}
        lost = [f"{node}: it did not say what it has saved" for node in sorted(silent)]
        failed = [line for one in others for line in one.not_collected]
        self.change(
            collected_files=said.collected_files + sum(one.collected_files for one in others),
            collected_bytes=said.collected_bytes + sum(one.collected_bytes for one in others),
            not_collected=[*said.not_collected, *failed, *lost],
        )

    def take_over_notes(self) -> None:
        """What other jobs have saved of earlier runs, on other nodes: they leave the record to its task."""
        notes = read_saved_rests(self._place, self._record.id, self.said.task)
        self.note_links(line for saved in notes.values() for line in saved.links_out)
        if notes:
            self.said = with_notes(self.said, notes.values())
            self.tell()
            forget_saved_rests(notes)

    def note_links(self, lines: Iterable[str]) -> None:
        """Links out of the copy that an earlier run has made."""
        self._links_before = [*dict.fromkeys([*self._links_before, *lines])]

    def nothing_is_left_on(self, node: str) -> None:
        """What earlier runs had left there is in the store."""
        failed = self.said.left_failed
        self.change(
            left_on=[one for one in self.said.left_on if one != node],
            left_failed={one: lines for one, lines in failed.items() if lines and one != node},
        )

    def note_full_store(self) -> None:
        """What the command prints goes to the store as well, and nobody tells when that takes no more."""
        if not self.said.full_since:
            failure = write_failure(job_directory(self._place, self._record.id).logs)
            if isinstance(failure, NoSpace):
                self.change(full_since=self.now())

    def tell_if_it_can(self, **changes: Any) -> None:
        """The same as `tell`, where the store may be what has failed: it is written with the next word then."""
        with suppress(ScratchflowError, OSError):
            self.tell(**changes)


def first_words(
    here: NodeContext,
    environment: Mapping[str, str],
    number: int,
    target: Path,
    earlier: TaskRecord | None,
) -> TaskRecord:
    """The record as a run begins."""
    beside_scratch = not target.is_relative_to(here.workspace.scratch)
    said = TaskRecord(
        task=number,
        job_id=here.job_id,
        node=here.node,
        phase="restoring",
        further_nodes=further_nodes(environment) if is_on_several(environment) else [],
        start=iso_time(here.now().timestamp()) or "",
        restarts=int(environment.get("SLURM_RESTART_COUNT") or 0),
        directory=str(target),
        goes_with_job=here.scratch_goes_with_job or beside_scratch,
        got={name: environment[key] for name, key in _GOT.items() if environment.get(key)},
    )
    if earlier is None:
        return said
    return msgspec.structs.replace(  # what was collected counts until it is counted anew
        said,
        continued=earlier.continued,
        left_on=earlier.unsaved_on,
        left_failed=earlier.unsaved_lines,
        collected_files=earlier.collected_files,
        collected_bytes=earlier.collected_bytes,
        collected_paths=earlier.collected_paths,
        collected_time=earlier.collected_time,
        earlier_files=earlier.earlier_files,
        earlier_bytes=earlier.earlier_bytes,
        links_out=earlier.links_out,
        removed=earlier.removed,
    )
