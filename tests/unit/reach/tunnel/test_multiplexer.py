"""Connections through a pair of pipes: whole, in both directions, and none stops another."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from scratchflow.reach.tunnel import multiplexer
from scratchflow.reach.tunnel.frames import DATA, HEAD, WINDOW_BYTES
from scratchflow.reach.tunnel.multiplexer import Multiplexer

LARGE = os.urandom(1 << 20) * 8


class Server:
    """What the tunnel leads to; a function handles each connection in a thread."""

    def __init__(self, handle: Callable[[socket.socket], None]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self._listener.getsockname()
        self._handle = handle
        threading.Thread(target=self._accept, daemon=True).start()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            self._handle(connection)

    def close(self) -> None:
        self._listener.close()


def echo(connection: socket.socket) -> None:
    while piece := connection.recv(1 << 16):
        connection.sendall(piece)


class Tunnel:
    """Both ends, in threads of this process."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        down, up = os.pipe(), os.pipe()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self._listener.getsockname()
        self.reasons: list[str] = []
        self._ends = threading.Event()
        self.is_welcome = True
        self.near = near = Multiplexer(
            down[0], up[1], listener=self._listener, is_welcome=lambda _: self.is_welcome
        )
        far = Multiplexer(up[0], down[1], connect=connect, is_there=lambda: not self._ends.is_set())
        self._threads = [
            threading.Thread(target=self._run, args=(near, down[0], up[1])),
            threading.Thread(target=self._run, args=(far, up[0], down[1])),
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, end: Multiplexer, *pipes: int) -> None:
        self.reasons.append(end.run())
        for descriptor in pipes:
            os.close(descriptor)

    def open(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=60)

    def close(self) -> None:
        """The far end goes, and the near one notices."""
        self._ends.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplexer, "LOOK_S", 0.02)


@contextmanager
def tunnel_to(handle: Callable[[socket.socket], None]) -> Iterator[Tunnel]:
    server = Server(handle)
    tunnel = Tunnel(server.connect)
    try:
        yield tunnel
    finally:
        tunnel.close()
        server.close()


def exchanged(connection: socket.socket, sent: bytes) -> bytes:
    """Sends everything, says so, and reads to the end."""

    def send() -> None:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    found = bytearray()
    while piece := connection.recv(1 << 16):
        found += piece
    sender.join()
    return bytes(found)


def test_what_goes_in_comes_out_at_the_other_end_and_back() -> None:
    with tunnel_to(echo) as tunnel, tunnel.open() as connection:
        assert exchanged(connection, LARGE) == LARGE


def test_who_is_not_welcome_reaches_nothing() -> None:
    reached: list[socket.socket] = []
    with tunnel_to(reached.append) as tunnel:
        tunnel.is_welcome = False
        with tunnel.open() as stranger, suppress(ConnectionError):
            assert stranger.recv(1) == b""
        assert reached == []


def test_a_hundred_at_once_are_told_apart() -> None:
    wanted = [hashlib.sha256(str(number).encode()).digest() * 2000 for number in range(100)]
    found: dict[int, bytes] = {}
    with tunnel_to(echo) as tunnel:

        def one(number: int) -> None:
            with tunnel.open() as connection:
                found[number] = exchanged(connection, wanted[number])

        threads = [threading.Thread(target=one, args=(number,)) for number in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [found[number] for number in range(100)] == wanted


def test_one_whose_reader_stands_still_stops_no_other() -> None:
    def flood(connection: socket.socket) -> None:
        kind = connection.recv(1)
        connection.sendall(LARGE * 4 if kind == b"L" else b"short")

    with tunnel_to(flood) as tunnel, tunnel.open() as still:
        still.sendall(b"L")
        assert still.recv(1)  # it flows, and from here on nobody reads it
        for _ in range(3):
            with tunnel.open() as other:
                other.sendall(b"s")
                assert exchanged(other, b"") == b"short"
        waits = sum(
            len(piece) for one in tunnel.near._connections.values() for piece in one.pending
        )
        assert waits <= WINDOW_BYTES
        assert 1 + len(exchanged(still, b"")) == 4 * len(LARGE)


def test_a_server_that_is_not_there_closes_the_connection_only() -> None:
    def connect() -> socket.socket:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")

    tunnel = Tunnel(connect)
    for _ in range(2):
        with tunnel.open() as connection:
            assert exchanged(connection, b"") == b""
    tunnel.close()


def test_a_server_whose_queue_is_full_is_tried_again_and_nothing_is_lost() -> None:
    server, times = Server(echo), [0]

    def connect() -> socket.socket:
        times[0] += 1
        if times[0] < 4:
            raise BlockingIOError(errno.EAGAIN, "busy")
        return server.connect()

    tunnel = Tunnel(connect)
    with tunnel.open() as connection:
        assert exchanged(connection, b"question") == b"question"
    tunnel.close()
    server.close()
    assert times == [4]


def test_when_the_pipe_ends_so_does_every_connection() -> None:
    with tunnel_to(echo) as tunnel:
        connection = tunnel.open()
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
        tunnel.close()
        with connection:
            assert connection.recv(1) == b""
        assert tunnel.reasons == ["the server has ended", "the connection was closed"]


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, int, int]]:
    made = (*os.pipe(), *os.pipe())
    yield made
    for descriptor in made:
        os.close(descriptor)


@pytest.mark.slow
def test_an_end_that_is_silent_is_given_up(pipes: tuple[int, int, int, int]) -> None:
    now_s = [0.0]

    def monotonic() -> float:
        now_s[0] += 1.0
        return now_s[0]

    reason = Multiplexer(pipes[0], pipes[3], monotonic=monotonic).run()
    assert reason == f"nothing was heard for {multiplexer.SILENT_S:g} s"
    kind, _, size = HEAD.unpack(os.read(pipes[2], HEAD.size))
    assert size == 0  # meanwhile it showed that it lives itself
    assert kind != DATA


def test_it_ends_when_the_server_is_gone(pipes: tuple[int, int, int, int]) -> None:
    now_s = [0.0]

    def monotonic() -> float:
        now_s[0] += 3.0
        return now_s[0]

    os.write(pipes[1], HEAD.pack(5, 0, 0))
    end = Multiplexer(pipes[0], pipes[3], is_there=lambda: False, monotonic=monotonic)
    assert end.run() == "the server has ended"


def test_what_is_no_frame_ends_it(pipes: tuple[int, int, int, int]) -> None:
    os.write(pipes[1], b"Segmentation fault\n")
    reason = Multiplexer(pipes[0], pipes[3]).run()
    assert reason == "the other end does not speak as agreed"
