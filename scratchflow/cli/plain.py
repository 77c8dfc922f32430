"""Command lines that need no parsing: a verb alone. typer takes longer to load than such a command has to do on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from scratchflow.cli.call import Call
from scratchflow.model.events import Emit
from scratchflow.model.results import StatusShown


def plain_call(arguments: Sequence[str]) -> Call[Any] | None:
    """What the verb's own module would make of it; None for anything that has to be parsed."""
    return _status() if list(arguments) == ["status"] else None


def _status() -> Call[StatusShown]:
    from scratchflow.cli.status_lines import shown

    def run(emit: Emit) -> StatusShown:
        from scratchflow.config.settings import Asked
        from scratchflow.dispatch.cluster import Caller
        from scratchflow.flows.status import status

        return status(Caller(Asked(), os.environ, may_ask=True), emit)

    return Call("status", run, shown)
