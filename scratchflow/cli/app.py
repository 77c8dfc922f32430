"""The one error boundary: whatever happens, one outcome is reported and the exit code agrees."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from scratchflow import __version__
from scratchflow.cli.call import Call
from scratchflow.cli.flags import Flags, is_agent, peek, with_separator
from scratchflow.cli.signals import SignalGate
from scratchflow.model.errors.base import (
    ClockUnusable,
    EndedBySignal,
    InternalBug,
    OutputFailed,
    ScratchflowError,
)
from scratchflow.model.results.base import VersionShown
from scratchflow.process.interrupted import Interrupted
from scratchflow.report.output import (
    OutputGone,
    claim_standard_descriptors,
    keep_stdout_to_ourselves,
    write_stdout,
)
from scratchflow.report.reporter import Reporter

_NO_MEMORY = (
    b"error: there is not enough memory to go on; `ulimit -v` shows a limit of this shell\n"
)


def run(arguments: Sequence[str]) -> int:
    """Parses, runs and reports one command line; returns the exit code."""
    claim_standard_descriptors()
    gate = SignalGate()
    gate.install()
    arguments = with_separator(arguments)
    flags = peek(arguments)
    if is_agent(arguments):
        keep_stdout_to_ourselves()
    try:
        reporter = _reporter(flags, gate)
        return _report(reporter, arguments, flags, gate)
    except OutputGone as gone:
        if gone.reader_left:
            return 128 + signal.SIGPIPE
        sys.stderr.write(f"error: {OutputFailed(error=gone)}\n")
        return OutputFailed.exit_code
    except Interrupted as interrupted:  # while the outcome of an earlier one was being written
        return 128 + interrupted.signum
    except MemoryError:  # there is not even enough to report anything as usual
        os.write(2, _NO_MEMORY)
        return 1


def _report(reporter: Reporter, arguments: Sequence[str], flags: Flags, gate: SignalGate) -> int:
    outcome: ScratchflowError
    call: Call[Any] | None = None
    try:
        call = _parse(arguments, flags)
        reporter.begin(call.op, call.show)
        _require_clock()
        result = call.flow(reporter.emit)
        shown = list(call.show(result))
        gate.close()
        return reporter.succeed(result, shown)
    except OutputGone:
        raise
    except ScratchflowError as error:
        outcome = error
    except Interrupted as interrupted:
        if _is_way_out(call, interrupted.signum, flags):
            gate.close()
            reporter.close()
            return 0
        outcome = EndedBySignal(interrupted.signum)
    except Exception as error:  # noqa: BLE001 - the boundary: a crash is reported, never shown raw
        outcome = _unexpected(error, arguments)
    gate.close()
    return reporter.fail(outcome)


def _is_way_out(call: Call[Any] | None, signum: int, flags: Flags) -> bool:
    """Whether this is how a person leaves what they look at. A program gets its one outcome as always."""
    watched = call is not None and call.until_interrupted
    return watched and signum == signal.SIGINT and not flags.json


def _parse(arguments: Sequence[str], flags: Flags) -> Call[Any]:
    if flags.version:
        version = VersionShown(version=__version__)
        return Call("version", lambda _: version, lambda shown: [f"scratchflow {shown.version}"])
    if is_agent(arguments):
        from scratchflow.cli.agent import receive

        return receive(arguments[1:])
    from scratchflow.cli.plain import plain_call

    plain = plain_call(arguments)
    if plain is not None:
        return plain
    from scratchflow.cli.verbs import parse

    return parse(arguments)


def _unexpected(error: Exception, arguments: Sequence[str]) -> ScratchflowError:
    """What nobody handled: no more memory or descriptors, no usable clock while parsing `yesterday`, or a defect."""
    from scratchflow.archive.files.limits import limit_reached
    from scratchflow.report.crash import write_crash_report

    try:
        _require_clock()
    except ClockUnusable as unusable:
        return unusable
    return limit_reached(error) or InternalBug(
        error=type(error).__name__, report=write_crash_report(error, arguments)
    )


def _reporter(flags: Flags, gate: SignalGate) -> Reporter:
    if not flags.json:
        from scratchflow.model.ages import Wording
        from scratchflow.report.human import Human

        Wording.in_full = flags.verbose
        Wording.profile = flags.profile
        Wording.config = flags.config
        Wording.overrides = flags.overrides
        return Human(quiet=flags.quiet, verbose=flags.verbose)
    from scratchflow.cluster.this_host import role
    from scratchflow.model.events import Hello
    from scratchflow.report.jsonl import JsonLines

    return JsonLines(
        hello=Hello(
            version=__version__, pid=os.getpid(), host=os.uname().nodename, role=role(os.environ)
        ),
        write=write_stdout,
        timestamp=_utc_now,
        monotonic=time.monotonic,
        uninterrupted=gate.uninterrupted,
        verbose=flags.verbose,
    )


def _require_clock() -> None:
    """ClockUnusable when nobody could tell the time: everything that is written carries one."""
    try:
        time.time()
    except OverflowError:
        raise ClockUnusable from None


def _utc_now() -> str:
    try:
        now_s = time.time()
    except OverflowError:  # the outcome that says so needs a time as well
        now_s = 0.0
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s))
    return f"{whole}.{int(now_s % 1 * 1000):03d}Z"
