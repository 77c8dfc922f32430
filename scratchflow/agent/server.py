"""Reads one request from standard input, checks it, and does it.

How the answer is written, and what becomes of an error, is the command line's: an agent's lines
are those of `--json`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from scratchflow import __version__
from scratchflow.agent.request import MAX_REQUEST_BYTES, Request, decode
from scratchflow.model.errors.agent import AgentMismatch, RequestRefused
from scratchflow.model.events import Emit, Event, Item, Log
from scratchflow.model.results.base import Result

Dispatch = Callable[[Request, Emit], Result]


def read_request(descriptor: int) -> tuple[Request, bytes]:
    """Reads up to the end of the line, or of the input, and gives what came after it as well.

    Never reads more than a request may have.
    """
    line = bytearray()
    while b"\n" not in line:
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            break
        line += chunk
        if len(line) > MAX_REQUEST_BYTES:
            raise RequestRefused(reason="the request is larger than 1 MiB")
    if not line:
        raise RequestRefused(reason="no request came")
    first, _, rest = bytes(line).partition(b"\n")
    return decode(first), rest


def serve(request: Request, dispatch: Dispatch, emit: Emit, *, stdin: int) -> Result:
    """Does what is asked, if the asker is of our version: another one may mean something else."""
    if request.version != __version__:
        raise AgentMismatch(host=os.uname().nodename, agent=__version__, asking=request.version)
    if request.hold_stdin and not request.feeds:
        hang_up_at_end_of(stdin)
    return dispatch(request, emit if request.verbose else _without_details(emit))


def hang_up_at_end_of(descriptor: int) -> None:
    """From here on the end of the input is a SIGHUP: whoever asked does not listen any more.

    ssh sends no signal when its other end dies; a closed input is all there is to notice.
    """

    def watch() -> None:
        try:
            while os.read(descriptor, 1 << 16):
                pass
        except OSError:  # as good as its end
            pass
        hang_up()

    threading.Thread(target=watch, name="hang-up", daemon=True).start()


def hang_up() -> None:
    """SIGHUP to the main thread, so that a call it waits in is broken off."""
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGHUP)


def _without_details(emit: Emit) -> Emit:
    def forward(event: Event) -> None:
        is_detail = isinstance(event, Item) or (isinstance(event, Log) and event.level == "debug")
        if not is_detail:
            emit(event)

    return forward
