"""Why a loop did not start is told in the words of its agent, when that had any."""

from __future__ import annotations

import msgspec

from scratchflow.login.autobackup.start import _agent_error
from scratchflow.model.errors.store import StoreLocked
from scratchflow.model.events import PROTOCOL_VERSION, Event, Failure, Log


def line(event: Event) -> bytes:
    """As the agent writes it."""
    return msgspec.json.encode({"v": PROTOCOL_VERSION, "seq": 1, **msgspec.to_builtins(event)})


def test_the_last_line_of_the_agent_is_the_reason_when_it_is_an_error() -> None:
    failed = Failure(code=StoreLocked.code, message="m", hint="h", retryable=True, exit_code=34)
    log, error = line(Log(level="info", message="x")), line(failed)
    assert isinstance(_agent_error([log, error]), StoreLocked)
    assert _agent_error([error, log]) is None
    assert _agent_error([b"srun: error: no"]) is None
    assert _agent_error([]) is None
