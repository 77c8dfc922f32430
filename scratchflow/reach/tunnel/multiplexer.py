"""Carries connections through a pair of pipes, in both directions, until one of the pipes ends.

Both ends of a tunnel run it. The near one accepts connections from a port, the far one makes a connection
to the server for each. Nothing waits for a slow reader but its own connection.
"""

from __future__ import annotations

import errno
import fcntl
import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from scratchflow.reach.tunnel.frames import (
    ALIVE,
    DATA,
    END,
    GONE,
    MOST_BYTES,
    OPEN,
    TAKEN,
    WINDOW_BYTES,
    Frames,
    NotAFrame,
    frame,
    head,
    taken_frame,
)

ALIVE_S = 10.0
"""An end that has nothing to say shows that it lives."""
SILENT_S = 40.0
"""An end that is silent for so long is gone: a cable was pulled, or a laptop closed."""
LOOK_S = 2.0
"""How often is looked whether the server is still there."""
_CONNECT_S = 30.0
_AGAIN_S = 0.05
_READ_BYTES = 1 << 20
_AT_ONCE = 64
# Linux alone has this, and Python names it since 3.10.
_SET_PIPE_SIZE = getattr(fcntl, "F_SETPIPE_SZ", -1)
_PIPE_BYTES = 1 << 20
_MOST_WAITING_BYTES = 1 << 21
_LIMIT = 1024
"""Connections at a time: a limit on descriptors, far beyond what a browser opens."""

# Makes a socket and begins to connect it; an OSError when the server is not there.
Connect = Callable[[], socket.socket]


class _Connection:
    """One of them at this end; without a socket while the server's queue is full."""

    def __init__(self, number: int, until_s: float = 0.0) -> None:
        self.number, self.until_s = number, until_s
        self.socket: socket.socket | None = None
        self.pending: deque[memoryview] = deque()
        self.may_send = WINDOW_BYTES
        self.written = 0
        self.is_read = False
        """The server or browser has said its last word, and the other end was told."""
        self.ends = False
        """The other end has said the last word: it is passed on after what is pending."""
        self.is_ended = False


class Multiplexer:
    """One end. `listener` makes it the near one, `connect` the far one."""

    def __init__(
        self,
        reader: int,
        writer: int,
        *,
        listener: socket.socket | None = None,
        connect: Connect | None = None,
        is_welcome: Callable[[socket.socket], bool] = lambda _: True,
        is_there: Callable[[], bool] = lambda: True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._listener, self._connect, self._is_there = listener, connect, is_there
        self._is_welcome = is_welcome
        self._monotonic = monotonic
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, _Connection] = {}
        self._by_descriptor: dict[int, _Connection] = {}
        self._unconnected: list[_Connection] = []
        self._frames = Frames()
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._last_number = 0
        self._heard_s = self._said_s = self._looked_s = monotonic()

    def run(self) -> str:
        """Carries until one of the pipes ends, or the server is not there any more; says why it ended."""
        for descriptor in (self._reader, self._writer):
            os.set_blocking(descriptor, False)
            with suppress(OSError):  # not every system can, and not everything is a pipe
                fcntl.fcntl(descriptor, _SET_PIPE_SIZE, _PIPE_BYTES)
        if self._listener is not None:
            self._listener.settimeout(0)
        try:
            return self._carry()
        except NotAFrame as error:
            return str(error)
        finally:
            self._close()

    def _carry(self) -> str:
        while True:
            self._watch_all()
            for key, events in self._selector.select(self._patience_s()):
                reason = self._move(key.fd, events)
                if reason:
                    return reason
            self._try_again()
            now = self._monotonic()
            if now - self._heard_s > SILENT_S:
                return f"nothing was heard for {SILENT_S:g} s"
            if now - self._said_s > ALIVE_S and not self._waiting:
                self._say(frame(ALIVE))
            if now - self._looked_s > LOOK_S:
                self._looked_s = now
                if not self._is_there():
                    return "the server has ended"

    def _patience_s(self) -> float:
        return _AGAIN_S if self._unconnected else LOOK_S

    # What could move now.

    def _watch_all(self) -> None:
        self._watch(self._reader, selectors.EVENT_READ)
        self._watch(self._writer, selectors.EVENT_WRITE if self._waiting else 0)
        has_room = self._waiting_bytes < _MOST_WAITING_BYTES
        if self._listener is not None:
            accepts = has_room and len(self._connections) < _LIMIT
            self._watch(self._listener.fileno(), selectors.EVENT_READ if accepts else 0)
        for descriptor, one in self._by_descriptor.items():
            reads = has_room and not one.is_read and one.may_send > 0
            events = selectors.EVENT_READ if reads else 0
            self._watch(descriptor, events | (selectors.EVENT_WRITE if one.pending else 0))

    def _watch(self, descriptor: int, events: int) -> None:
        known = self._selector.get_map().get(descriptor)
        if known is None and events:
            self._selector.register(descriptor, events)
        elif known is not None and not events:
            self._selector.unregister(descriptor)
        elif known is not None and known.events != events:
            self._selector.modify(descriptor, events)

    def _move(self, descriptor: int, events: int) -> str:
        if descriptor == self._reader:
            return self._hear()
        if descriptor == self._writer:
            return self._send()
        if self._listener is not None and descriptor == self._listener.fileno():
            self._accept()
            return ""
        one = self._by_descriptor.get(descriptor)
        if one is not None and events & selectors.EVENT_WRITE:
            self._write(one)
        if one and self._by_descriptor.get(descriptor) is one and events & selectors.EVENT_READ:
            self._read(one)
        return ""

    # The pipes.

    def _hear(self) -> str:
        try:
            piece = os.read(self._reader, _READ_BYTES)
        except BlockingIOError:
            return ""
        except OSError as error:
            return f"the connection was lost: {error.strerror}"
        if not piece:
            return "the connection was closed"
        self._heard_s = self._monotonic()
        for kind, number, content in self._frames.take(piece):
            self._understand(kind, number, content)
        return ""

    def _say(self, text: bytes) -> None:
        self._waiting.append(memoryview(text))
        self._waiting_bytes += len(text)

    def _send(self) -> str:
        try:
            sent = os.writev(self._writer, list(islice(self._waiting, _AT_ONCE)))
        except BlockingIOError:
            return ""
        except OSError as error:
            return f"the connection was lost: {error.strerror}"
        self._said_s = self._monotonic()
        self._waiting_bytes -= sent
        while self._waiting and sent >= len(self._waiting[0]):
            sent -= len(self._waiting.popleft())
        if sent:
            self._waiting[0] = self._waiting[0][sent:]
        return ""

    def _understand(self, kind: int, number: int, content: memoryview) -> None:
        if kind == OPEN and self._connect is not None:
            self._open(number)
            return
        one = self._connections.get(number)
        if one is None:  # closed here, while this was under way
            return
        if kind == DATA:
            one.pending.append(content)
            self._write(one)
        elif kind == END:
            one.ends = True
            self._write(one)
        elif kind == TAKEN:
            one.may_send += int.from_bytes(content, "big")
        elif kind == GONE:
            self._forget(one)

    # The connections.

    def _accept(self) -> None:
        if self._listener is None:
            return
        try:
            own, _ = self._listener.accept()
        except OSError:  # it has left already
            return
        if not _holds(self._is_welcome, own):
            own.close()
            return
        self._last_number = self._last_number % 0xFFFFFFFF + 1
        one = self._connections[self._last_number] = _Connection(self._last_number)
        self._say(frame(OPEN, one.number))
        self._use(one, own)

    def _use(self, one: _Connection, own: socket.socket) -> None:
        own.settimeout(0)
        if own.family != socket.AF_UNIX:
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.socket = own
        self._by_descriptor[own.fileno()] = one

    def _open(self, number: int) -> None:
        one = self._connections[number] = _Connection(number, self._monotonic() + _CONNECT_S)
        if len(self._connections) > _LIMIT:
            self._close_one(one)
        else:
            self._reach(one)

    def _reach(self, one: _Connection) -> None:
        """Connects to the server; when its queue is full, a little later."""
        if self._connect is None:
            return
        try:
            own = self._connect()
        except OSError as error:
            if error.errno == errno.EAGAIN and self._monotonic() < one.until_s:
                self._unconnected.append(one)
            else:
                self._close_one(one)
            return
        self._use(one, own)
        self._write(one)

    def _try_again(self) -> None:
        waiting, self._unconnected = self._unconnected, []
        for one in waiting:
            if self._connections.get(one.number) is one:
                self._reach(one)

    def _read(self, one: _Connection) -> None:
        if one.socket is None:
            return
        try:
            piece = one.socket.recv(min(MOST_BYTES, one.may_send))
        except BlockingIOError:
            return
        except OSError:
            self._close_one(one)
            return
        if piece:
            one.may_send -= len(piece)
            self._say(head(DATA, one.number, len(piece)))
            self._say(piece)
            return
        one.is_read = True
        self._say(frame(END, one.number))
        self._forget_if_over(one)

    def _write(self, one: _Connection) -> None:
        if one.socket is None:
            return
        try:
            while one.pending:
                sent = one.socket.send(one.pending[0])
                one.written += sent
                if sent < len(one.pending[0]):
                    one.pending[0] = one.pending[0][sent:]
                    break
                one.pending.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._close_one(one)
            return
        if one.written >= WINDOW_BYTES // 4:
            self._say(taken_frame(one.number, one.written))
            one.written = 0
        if one.ends and not one.pending and not one.is_ended:
            one.is_ended = True
            with suppress(OSError):
                one.socket.shutdown(socket.SHUT_WR)
            self._forget_if_over(one)

    def _forget_if_over(self, one: _Connection) -> None:
        if one.is_read and one.is_ended:
            self._forget(one)

    def _close_one(self, one: _Connection) -> None:
        self._say(frame(GONE, one.number))
        self._forget(one)

    def _forget(self, one: _Connection) -> None:
        if self._connections.get(one.number) is one:
            del self._connections[one.number]
        if one.socket is not None:
            descriptor = one.socket.fileno()
            self._watch(descriptor, 0)
            del self._by_descriptor[descriptor]
            one.socket.close()
            one.socket = None

    def _close(self) -> None:
        for one in list(self._connections.values()):
            self._forget(one)
        self._selector.close()


def _holds(is_welcome: Callable[[socket.socket], bool], own: socket.socket) -> bool:
    """Whether it is; one that has left already is not."""
    try:
        return is_welcome(own)
    except OSError:
        return False
