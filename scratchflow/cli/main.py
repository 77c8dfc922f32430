"""The first lines that run. Nothing heavy is imported before it is known to be needed."""

from __future__ import annotations

import contextlib
import gc
import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    # What imports make stays: looking for garbage among it again and again takes a tenth of the start.
    gc.set_threshold(50_000, 20, 50)
    if sys.argv[1:] == ["--version"]:  # asked for by scripts, again and again
        from scratchflow import __version__
        from scratchflow.report.output import (
            OutputGone,
            claim_standard_descriptors,
            write_stdout,
        )

        claim_standard_descriptors()
        with contextlib.suppress(OutputGone):  # then the boundary meets it too, and says so
            write_stdout(f"scratchflow {__version__}\n".encode())
            return
    import signal

    # Until the command line listens, Ctrl-C simply ends us: nothing has begun, and a traceback says nothing.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:] in (["tunnel-end"], ["tunnel-keeper"], ["sync-end"]):  # no person types these
        from scratchflow.cli.tunnel_ends import run_end

        _leave(run_end(sys.argv[1]))
    if sys.argv[1:2] == ["run"]:  # as near to `ssh` as it gets
        from scratchflow.cli.quick_run import quick_run
        from scratchflow.report.output import claim_standard_descriptors

        claim_standard_descriptors()
        code = quick_run(sys.argv[1:])
        if code is not None:
            _leave(code)
    _load_msgspec()
    from scratchflow.cli.app import run

    _leave(run(sys.argv[1:]))


def _load_msgspec() -> None:
    """Without `typing_extensions`, which a cluster's agent has not either: it loads `inspect` and more, a tenth of the start.

    msgspec takes what Python itself has instead.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # how an import is made to fail
    try:
        import msgspec  # noqa: F401 - for what follows
    finally:
        del sys.modules[name]


def _leave(code: int) -> None:
    """Ends the process without taking the interpreter apart: a tenth of an unchanged backup.

    Threads that have still to finish, output that cannot be written and debuggers get the long way.
    """
    import atexit
    import os
    import threading

    busy = [thread for thread in threading.enumerate() if not thread.daemon]
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)
    if len(busy) > 1 or sys.gettrace():
        sys.exit(code)
    atexit._run_exitfuncs()  # noqa: SLF001 - what others asked for at the end is not skipped
    os._exit(code)
