"""What `scratchflow restore` does once it is parsed, and its words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from scratchflow.cli.call import Call, announced, telling_what_an_end_means
from scratchflow.cli.remote_call import at_workspace, on_host, on_the_others
from scratchflow.model.ages import named, shown_id
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import EVERY_NODE, Restore
from scratchflow.model.results.restore import Restored
from scratchflow.model.text import counted, printable
from scratchflow.model.units import format_size, format_took

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller

_LOOKING = "looking for the snapshot"
_CUT_SHORT = (
    "If files were written already, the workspace is half of two states: `scratchflow restore` finishes it,"
    " `scratchflow restore --abandon` leaves it as it is."
)


def restore_call(who: Caller, request: Restore, here: str | None = None) -> Call[Restored]:
    """The call; `here` is a directory of this machine."""
    if here is None:
        # A file, a directory of the node and a restore that was begun there are the first node's alone.
        is_of_one = request.dry_run or request.to or request.source or request.abandon
        node = "" if is_of_one else EVERY_NODE
        call = announced(_LOOKING, at_workspace(who, "restore", request, shown_restored, node=node))
        is_elsewhere = request.dry_run or request.to is not None
        return (
            call
            if is_elsewhere
            else _telling_of_this_shell(telling_what_an_end_means(call, _CUT_SHORT))
        )

    def run(emit: Emit) -> Restored:
        from scratchflow.flows.transfer.take_home import restore_here

        return restore_here(who, request, here, emit)

    return announced(_LOOKING, Call("restore", run, shown_restored))


def restored_code(
    who: Caller, op: str, job: str, request: Restore, here: str | None
) -> Call[Restored]:
    """The files of a job; `here` is a directory of this machine."""

    def run(emit: Emit) -> Restored:
        from scratchflow.flows.jobs.code import bring_code

        return bring_code(who, emit, job, request, here)

    call = announced("looking for the job", Call(op, run, shown_restored))
    is_elsewhere = request.dry_run or here is not None or request.to is not None
    return call if is_elsewhere else telling_what_an_end_means(call, _CUT_SHORT)


def restored_from_mirror(who: Caller, request: Restore, here: str | None) -> Call[Restored]:
    """A snapshot of the mirror; `here` is a directory of this machine."""

    def run(emit: Emit) -> Restored:
        from scratchflow.flows.transfer.from_mirror import restore_from_mirror

        return restore_from_mirror(who, emit, request, here)

    call = announced("looking at the mirror", Call("restore", run, shown_restored))
    return (
        call
        if here is not None or request.to is not None
        else telling_what_an_end_means(call, _CUT_SHORT)
    )


def _telling_of_this_shell(call: Call[Restored]) -> Call[Restored]:
    """The same, with a word when the directory that this was typed in was replaced: to its shell it looks empty."""

    def run(emit: Emit) -> Restored:
        typed_in = _this_directory()
        restored = call.flow(emit)
        if typed_in and not _is_still(typed_in):
            emit(
                Log(
                    level="info",
                    message="this shell is in the directory that was replaced; `cd .` leads to the new one",
                )
            )
        return restored

    return msgspec.structs.replace(call, flow=run)


def _this_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone already
        return ""


def _is_still(path: str) -> bool:
    """Whether this process is in the directory of that path, or nothing is there that it could go to."""
    try:
        return os.path.samestat(os.stat("."), os.stat(path))
    except OSError:
        return True


def shown_restored(restored: Restored) -> Iterator[str]:
    """What people read after a restore."""
    if restored.abandoned:
        yield from _shown_abandoned(restored)
        return
    yield from _shown_outcome(restored)
    # In full, all that was there gave way, and nobody looked whether a snapshot has it.
    kept = "what was there" if restored.mode == "full" else "what no snapshot holds"
    for path in restored.moved_aside:
        yield f"{kept} was kept as `{printable(path)}`"
    if restored.safety_snapshot:
        what = "everything else that" if restored.moved_aside else "whatever"
        safety = shown_id(restored.safety_snapshot)
        back = f"`scratchflow restore {safety}` goes back"
        if restored.was_half:  # to nothing that anybody made
            back = (
                "that is what the restore that was cut short had left, with what was changed since"
            )
        yield f"{what} was replaced or removed is in snapshot {safety}; {back}"
    if restored.committed_as:
        yield f"what was restored is the newest again, as snapshot {shown_id(restored.committed_as)}"
    yield from on_the_others(restored)


def _shown_outcome(restored: Restored) -> Iterator[str]:
    target, where = printable(restored.place or restored.target), on_host(restored.host)
    if restored.is_part:
        yield f"nothing to write: what was asked for is in `{target}`{where} already, as in snapshot {named(restored.snapshot)}"
        return
    if restored.mode == "nothing":
        yield f"`{target}`{where} equals snapshot {named(restored.snapshot)} already"
        yield from _foretold_snapshots(restored)
        return
    gone = f", {counted(restored.removed, 'path')} removed" if restored.removed else ""
    written = f"{counted(restored.written_files, 'file')} ({format_size(restored.written_bytes)})"
    if restored.dry_run:
        yield f"would write {written}{gone}, to `{target}`{where} from snapshot {named(restored.snapshot)}"
        yield from _foretold_snapshots(restored)
    else:
        took = format_took(restored.duration_s)
        source = named(restored.snapshot)
        yield f"`{target}`{where} from snapshot {source}: {written} written{gone}, in {took}"


def _foretold_snapshots(restored: Restored) -> Iterator[str]:
    """Which snapshots the restore that is only tried would take."""
    would = []
    if restored.would_save:
        would.append("first save what is there in a safety snapshot")
    if restored.would_commit:
        would.append(f'add a snapshot "restored {shown_id(restored.snapshot)}" as the newest')
    if would:
        yield f"would {', and '.join(would)}"


def _shown_abandoned(restored: Restored) -> Iterator[str]:
    target = printable(restored.target)
    if restored.dry_run:
        yield f"would save `{target}` as it is, and give up the restore of {named(restored.abandoned or '')}"
    elif restored.safety_snapshot:
        yield f"the restore of {named(restored.abandoned or '')} is given up; `{target}` stays as it is"
        if restored.committed_as:
            yield f"what is there is the newest again, as snapshot {shown_id(restored.committed_as)}"
            return
        yield f"what is there is in snapshot {shown_id(restored.safety_snapshot)}"
    else:
        yield f"the restore of {named(restored.abandoned or '')} is given up; nothing is at `{target}`"
