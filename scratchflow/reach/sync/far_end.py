"""What runs beside unison on a login host: it starts it, passes on what it says, and ends it when nobody listens any more.

Unison in the middle of the star starts what it takes for ssh: three lines of `sh` (`_RELAY`) that pass its bytes to us
by descriptors which it inherits. So the bytes go the way that the near end has, and the two login hosts
need not reach each other.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from scratchflow.cluster.unison.command import PROFILE
from scratchflow.disk.private import make_private_directories
from scratchflow.process.child import end_child
from scratchflow.reach.sync.frames import (
    ALIVE,
    ALIVE_EVERY_S,
    BUSY,
    DATA,
    END,
    GONE,
    MARK,
    OPEN,
    PEER,
    PIECE_BYTES,
    SILENT_S,
    TEXT,
    Ended,
    Frames,
    Start,
    frame,
    write_all,
)
from scratchflow.reach.sync.one_at_a_time import alone_in

_MOST_BYTES = 1 << 20
# How many pieces for the other unison may wait to be sent.
_WAITING_PIECES = 64
_FAREWELL_S = 10.0
_LOOK_S = 0.5
# The words that unison gives to ssh go first, one a line and counted: the other unison is started with them.
_RELAY = """#!/bin/sh
exec 7<&0
{ printf '%s\\n' "$#" "$@"; exec cat <&7; } >&"$SCRATCHFLOW_SYNC_OUT" &
exec cat <&"$SCRATCHFLOW_SYNC_IN"
"""
_WAITING = b"another sync works with this home; waiting for its end\n"


def main() -> int:
    """Reads what to run, says that we are here, and carries until it has ended."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    pipes = [*os.pipe(), *os.pipe()]
    start = msgspec.json.decode(_first_line(0), type=Start)
    # A writer of our own: nothing else may ever write into the stream.
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.write(out, MARK + start.token.encode() + b"\n")
    sender = _Sender(out)
    with alone_in(_directory(), lambda: sender.send(DATA, TEXT, _WAITING)) as is_alone:
        if is_alone:
            return _Beside(start, sender, pipes).carry()
    sender.send(GONE, TEXT, msgspec.json.encode(Ended(code=BUSY)))
    sender.finish()
    return 0


class _Sender:
    """Sends frames in turn. What unison prints never has to wait; what it says to the other one does, when much is under way."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(_WAITING_PIECES)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def send(self, kind: int, stream: int, content: bytes = b"") -> None:
        if stream == PEER:
            self._room.acquire()
        self._frames.put(frame(kind, stream, content))

    def finish(self) -> None:
        """Waits until everything is sent, or nobody reads."""
        self._frames.put(None)
        self._thread.join(_FAREWELL_S)

    def _run(self) -> None:
        is_open = True
        while True:
            try:
                one = self._frames.get(timeout=ALIVE_EVERY_S)
            except queue.Empty:
                one = frame(ALIVE)
            if one is None:
                return
            if one[4] == PEER:  # the last byte of the connection's number
                self._room.release()
            try:
                if is_open:
                    write_all(self._out, one)
            except OSError:
                is_open = False


class _Beside:
    """One unison, and the streams to and from it."""

    def __init__(self, start: Start, sender: _Sender, pipes: list[int]) -> None:
        self._sender = sender
        self._peer_lock = threading.Lock()
        environment = {**os.environ, **start.variables}
        words = list(start.words)
        if not start.leads:
            for descriptor in pipes:
                os.close(descriptor)
            self._process = _started(words, environment)
            self._to_peer = _descriptor(self._process.stdin)
            self._from_peer = _descriptor(self._process.stdout)
            self._from_text = _descriptor(self._process.stderr)
            self._to_text = -1
        else:
            theirs_in, self._to_peer, self._from_peer, theirs_out = pipes
            environment |= {
                "SCRATCHFLOW_SYNC_IN": str(theirs_in),
                "SCRATCHFLOW_SYNC_OUT": str(theirs_out),
            }
            words += ["-sshcmd", str(_relay_program())]
            self._process = _started(words, environment, (theirs_in, theirs_out))
            self._to_text = _descriptor(self._process.stdin)
            self._from_text = _descriptor(self._process.stdout)
            os.close(theirs_in)
            os.close(theirs_out)
        self._has_words = start.leads
        self._is_over = threading.Event()

    def carry(self) -> int:
        """Until unison has ended, or the near end is gone."""
        readers = [
            threading.Thread(target=self._pass_on_text, daemon=True),
            threading.Thread(target=self._pass_on_peer, daemon=True),
        ]
        for thread in readers:
            thread.start()
        threading.Thread(target=self._wait, args=(readers[0],), daemon=True).start()
        self._receive()
        self._close_peer()  # unison then loses its connection, and ends in its own way
        if not self._is_over.wait(_FAREWELL_S):
            end_child(self._process)
            self._is_over.wait(_FAREWELL_S)
        return 0

    def _wait(self, text: threading.Thread) -> None:
        """Tells the near end how unison ended, when all that it printed is sent."""
        code = self._process.wait()
        self._close_peer()  # what leads to the other one ends with that
        text.join(_FAREWELL_S)
        self._sender.send(GONE, TEXT, msgspec.json.encode(Ended(code=code)))
        self._sender.finish()
        with suppress(ProcessLookupError, PermissionError):  # what leads to the other one
            os.killpg(self._process.pid, signal.SIGTERM)
        self._is_over.set()

    def _receive(self) -> None:
        frames = Frames()
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        heard_s = time.monotonic()
        while not self._is_over.is_set():
            if not poll.poll(_LOOK_S * 1000):
                if time.monotonic() - heard_s > SILENT_S:
                    return
                continue
            try:
                piece = os.read(0, PIECE_BYTES)
            except OSError:
                return
            if not piece:
                return
            heard_s = time.monotonic()
            for kind, stream, content in frames.take(piece):
                self._act(kind, stream, bytes(content))

    def _act(self, kind: int, stream: int, content: bytes) -> None:
        with suppress(OSError):  # unison has ended, or closed it
            if kind == DATA and stream == PEER:
                with self._peer_lock:
                    write_all(self._to_peer, content)
            elif kind == DATA:
                write_all(self._to_text, content)
            elif kind == END and stream == PEER:
                self._close_peer()
            elif kind == END:
                os.close(self._to_text)

    def _close_peer(self) -> None:
        with self._peer_lock:
            if self._to_peer >= 0:
                os.close(self._to_peer)
                self._to_peer = -1

    def _pass_on_text(self) -> None:
        with suppress(OSError):
            while piece := os.read(self._from_text, PIECE_BYTES):
                self._sender.send(DATA, TEXT, piece)

    def _pass_on_peer(self) -> None:
        with suppress(OSError):
            if self._has_words:
                words = _counted_lines(self._from_peer)
                if not words:
                    return
                self._sender.send(OPEN, PEER, msgspec.json.encode(words))
            while piece := os.read(self._from_peer, PIECE_BYTES):
                self._sender.send(DATA, PEER, piece)
            self._sender.send(END, PEER)


def _started(
    words: list[str], environment: dict[str, str], inherited: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if inherited else subprocess.PIPE,
        pass_fds=inherited,
        start_new_session=True,
    )


def _descriptor(pipe: IO[bytes] | None) -> int:
    """The descriptor alone: whoever closes it closes the pipe."""
    if pipe is None:
        raise ValueError("a child without pipes")
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    return descriptor


def _directory() -> Path:
    return Path(os.environ["HOME"]) / ".local" / "share" / "scratchflow" / "sync"


def _relay_program() -> Path:
    """What unison takes for ssh; the same file for every run. Beside it, our own file of preferences is made."""
    home = Path(os.environ["HOME"])
    directory = _directory()
    make_private_directories(directory)
    program = directory / "relay"
    if not program.is_file() or program.read_text() != _RELAY:
        aside = directory / f"relay.{os.getpid()}"
        aside.write_text(_RELAY)
        aside.chmod(0o700)
        aside.replace(program)
    preferences = Path(os.environ.get("UNISON") or home / ".unison") / f"{PROFILE}.prf"
    make_private_directories(preferences.parent)
    if not preferences.exists():
        preferences.write_text(
            "# For `scratchflow sync`, which says everything on the command line.\n"
        )
    return program


def _counted_lines(descriptor: int) -> list[str]:
    count = _first_line(descriptor)
    return [os.fsdecode(_first_line(descriptor)) for _ in range(int(count or b"0"))]


def _first_line(descriptor: int) -> bytes:
    """Byte by byte: what follows belongs to somebody else."""
    line = bytearray()
    while len(line) < _MOST_BYTES:
        byte = os.read(descriptor, 1)
        if byte in {b"", b"\n"}:
            break
        line += byte
    return bytes(line)
