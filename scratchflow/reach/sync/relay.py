"""Carries what two unisons say to each other through this machine, and what the first one prints to whoever answers it."""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.sync import SyncBusy
from scratchflow.model.text import last_line
from scratchflow.process.child import end_child, kill_child, wait_for_child
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
from scratchflow.reach.tunnel.frames import NotAFrame

_READY_S = 60.0
_MOST_NOISE_BYTES = 1 << 16
_FAREWELL_S = 5.0

Answer = Callable[[bytes], bytes | None]
"""Hears a piece of what unison prints, and says what to type; None closes its input. An empty piece means: nothing new for a while."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One login host: its profile's name, what `ssh` calls it, what starts a far end there, and what unison is told about it."""

    profile: str
    host: str
    argv: Sequence[str]
    variables: Mapping[str, str]


class FarEnd:
    """A far end that answers, and its frames."""

    def __init__(self, side: Side, start: Start, environment: Mapping[str, str]) -> None:
        self.side = side
        self._lock = threading.Lock()
        self._frames = Frames()
        self._is_silent = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the rest
        self._process = subprocess.Popen(
            list(side.argv),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise self.lost("it has no pipes")
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        try:
            self._shake_hands(start)
        except BaseException:
            self.end()
            self.close()
            raise

    def send(self, kind: int, stream: int = 0, content: bytes = b"") -> None:
        """Sends a frame; when nobody reads, the end of the other direction says so."""
        with self._lock, suppress(OSError):
            write_all(self._in, frame(kind, stream, content))

    def frames(self) -> Iterator[tuple[int, int, bytes]]:
        """What arrives, to the end. A far end that is silent for too long counts as gone."""
        while self._speaks() and (piece := self._read(PIECE_BYTES)):
            try:
                for kind, stream, content in self._frames.take(piece):
                    yield kind, stream, bytes(content)
            except NotAFrame as error:
                raise self.lost(str(error)) from None

    def lost(self, reason: str = "") -> ConnectionLost:
        """The error for a far end that is gone."""
        self._said.seek(0)
        silent = f"nothing was heard from it for {SILENT_S:g} s" if self._is_silent else ""
        said = reason or silent or last_line(self._said.read())
        said = said or "it was cut in the middle of a sync"
        return ConnectionLost(host=self.side.host, reason=said)

    def end(self) -> None:
        """Ends what carries it; the far end then ends unison. Other threads meet the end of what they read."""
        if not self._lock.acquire(timeout=_FAREWELL_S):  # somebody writes, and nobody reads
            kill_child(self._process)
            self._lock.acquire()
        try:
            self._in = -1
            with suppress(OSError):
                if self._process.stdin:
                    self._process.stdin.close()
        finally:
            self._lock.release()
        wait_for_child(self._process, _FAREWELL_S)
        kill_child(self._process)

    def close(self) -> None:
        """After `end`, when no other thread reads any more: its descriptors may be somebody else's from now on."""
        self._out = -1
        end_child(self._process)
        self._said.close()

    def _speaks(self) -> bool:
        self._is_silent = not self._waits(SILENT_S)
        return not self._is_silent

    def _waits(self, wait_s: float) -> bool:
        """Whether there is something to read, or the end, within this time."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN | select.POLLHUP)
        return bool(poll.poll(wait_s * 1000))

    def _read(self, size: int) -> bytes:
        try:
            return os.read(self._out, size)
        except (OSError, ValueError):
            return b""

    def _shake_hands(self, start: Start) -> None:
        with suppress(OSError):
            write_all(self._in, msgspec.json.encode(start) + b"\n")
        wanted = MARK + start.token.encode() + b"\n"
        heard = bytearray()
        until_s = time.monotonic() + _READY_S
        while not heard.endswith(wanted):
            byte = self._read(1) if self._waits(max(0.0, until_s - time.monotonic())) else b""
            if not byte or len(heard) > _MOST_NOISE_BYTES:
                raise self.lost()
            heard += byte


class Relay:
    """Runs unison in the first home and, once that asks for it, in the other."""

    def __init__(self, first: Side, other: Side, environment: Mapping[str, str]) -> None:
        self._first, self._other, self._environment = first, other, environment
        self._far: FarEnd | None = None
        self._lost: ConnectionLost | SyncBusy | None = None
        self._threads: list[threading.Thread] = []
        self._is_over = threading.Event()
        self.server_said = b""
        """The end of what the other unison printed."""

    def run(
        self, words: Sequence[str], server: Callable[[Sequence[str]], list[str]], answer: Answer
    ) -> int:
        """Unison's exit code. `server` makes the other's command of the words that the first gave to ssh."""
        near = FarEnd(self._first, _start(self._first, words, leads=True), self._environment)
        self._is_over = threading.Event()
        try:
            self._in_thread(self._keep_alive, near, self._is_over)
            for kind, stream, content in near.frames():
                if kind == GONE:
                    return self._code(msgspec.json.decode(content, type=Ended))
                if kind == OPEN:
                    self._open(near, server(msgspec.json.decode(content, type=list[str])))
                elif stream == PEER and self._far:
                    self._far.send(kind, PEER, content)
                elif kind in {DATA, ALIVE}:
                    _say(near, answer(content if kind == DATA else b""))
            raise near.lost()
        finally:
            self._is_over.set()
            self._end_all([self._far, near] if self._far else [near])

    def _in_thread(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _end_all(self, ends: Sequence[FarEnd]) -> None:
        """Closes nothing while a thread may still use it."""
        for end in ends:
            end.end()
        for thread in self._threads:
            thread.join(_FAREWELL_S)
        if not any(thread.is_alive() for thread in self._threads):
            for end in ends:
                end.close()
        self._far, self._threads = None, []

    def _code(self, ended: Ended) -> int:
        if ended.code == BUSY:
            raise SyncBusy(profile=self._first.profile)
        if ended.code == 3 and self._lost:
            raise self._lost
        return ended.code

    def _open(self, near: FarEnd, words: list[str]) -> None:
        try:
            self._far = FarEnd(self._other, _start(self._other, words), self._environment)
        except (ConnectionLost, OSError) as error:
            lost = ConnectionLost(host=self._other.host, reason=str(error))
            self._lost = error if isinstance(error, ConnectionLost) else lost
            near.send(END, PEER)
            return
        self._in_thread(self._keep_alive, self._far, self._is_over)
        self._in_thread(self._back, near, self._far)

    def _back(self, near: FarEnd, far: FarEnd) -> None:
        """What the other unison says, to the first."""
        has_ended = False
        with suppress(ConnectionLost, ValueError):
            for kind, stream, content in far.frames():
                if kind == DATA and stream == PEER:
                    near.send(DATA, PEER, content)
                elif kind == DATA and stream == TEXT:
                    self.server_said = (self.server_said + content)[-4096:]
                elif kind == GONE:
                    has_ended = True
                    if msgspec.json.decode(content, type=Ended).code == BUSY:
                        self._lost = SyncBusy(profile=self._other.profile)
                    break
        if not has_ended:
            with suppress(ValueError):
                self._lost = far.lost()
        near.send(END, PEER)

    def _keep_alive(self, end: FarEnd, is_over: threading.Event) -> None:
        """Of each end on its own: one whose unison does not read for a while holds up whoever writes to it."""
        while not is_over.wait(ALIVE_EVERY_S):
            end.send(ALIVE)


def _start(side: Side, words: Sequence[str], *, leads: bool = False) -> Start:
    return Start(
        token=secrets.token_hex(16),
        words=list(words),
        variables=dict(side.variables),
        leads=leads,
    )


def _say(near: FarEnd, typed: bytes | None) -> None:
    if typed is None:
        near.send(END, TEXT)
    elif typed:
        near.send(DATA, TEXT, typed)
