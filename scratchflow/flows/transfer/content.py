"""`snapshots cat`: a file of a snapshot to this terminal's stdout, byte for byte."""

from __future__ import annotations

import base64
from contextlib import nullcontext

import msgspec

from scratchflow.dispatch.cluster import Caller, at_workspace_as
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.events import Data, Emit, Event
from scratchflow.model.requests import Cat
from scratchflow.model.results.snapshots import FileShown
from scratchflow.report.output import write_stdout
from scratchflow.report.question import question_open

# All of it becomes one line of JSON.
MOST_KEPT_BYTES = 64 << 20


def show_content(caller: Caller, emit: Emit, asked: Cat, *, keep: bool) -> FileShown:
    """Writes what comes as it comes; with `keep` it is part of the result instead."""
    kept = bytearray()
    came = 0

    def hear(event: Event) -> None:
        nonlocal came
        if not isinstance(event, Data):
            emit(event)
            return
        came += len(event.content)
        if keep:
            kept.extend(event.content)
        else:
            write_stdout(event.content)

    asked = msgspec.structs.replace(asked, most_bytes=MOST_KEPT_BYTES if keep else 0)
    with nullcontext() if keep else question_open(emit):
        shown = at_workspace_as(FileShown, "snapshots cat", asked, caller, hear)
    if came != shown.size:
        raise StreamBroken(reason=f"{came} of {shown.size} bytes came")
    return msgspec.structs.replace(shown, content_b64=base64.b64encode(kept).decode("ascii"))
