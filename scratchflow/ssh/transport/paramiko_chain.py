"""A connection hop by hop: each hop verified and logged in to, the next one carried by it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.keys.host_identity import keys_on_record, preferred_kinds, verify
from scratchflow.ssh.keys.known_hosts import HostKey
from scratchflow.ssh.transport.base import ALIVE_COUNT, ALIVE_INTERVAL_S, CONNECT_TIMEOUT_S
from scratchflow.ssh.transport.paramiko_library import as_our_error, load_paramiko
from scratchflow.ssh.transport.paramiko_login import Login

HANDSHAKE_TIMEOUT_S = 15.0
AUTH_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 180.0
PROBE_TIMEOUT_S = float(ALIVE_INTERVAL_S * (ALIVE_COUNT - 1))
JOIN_TIMEOUT_S = 5.0


class Chain:
    """The open connections, first hop first. Closing it ends every thread and socket of it."""

    def __init__(self, *, asks: bool) -> None:
        self._auth_timeout_s = ANSWER_TIMEOUT_S if asks else AUTH_TIMEOUT_S
        self._links: list[tuple[Any, Any]] = []

    @property
    def last(self) -> Any:
        """paramiko's transport to the host at the end of the chain."""
        return self._links[-1][0]

    @property
    def is_open(self) -> bool:
        """Whether nobody has noticed an end yet; `answers` asks."""
        return bool(self._links) and all(transport.is_active() for transport, _ in self._links)

    def add(self, host: ResolvedHost, login: Login) -> None:
        """Connects to the next host, through those already there."""
        with as_our_error(host):
            carrier = self._carrier(host)
            try:
                transport = load_paramiko().Transport(carrier)
            except BaseException:
                carrier.close()
                raise
            self._links.append((transport, carrier))
            transport.daemon = True
            transport.banner_timeout = HANDSHAKE_TIMEOUT_S
            transport.handshake_timeout = HANDSHAKE_TIMEOUT_S
            transport.auth_timeout = self._auth_timeout_s
            self._greet(transport, host)
            login.authenticate(transport, host)
            transport.set_keepalive(ALIVE_INTERVAL_S)

    def close(self) -> None:
        """Closes the chain from its far end on. May be called twice."""
        while self._links:
            transport, carrier = self._links.pop()
            # paramiko's thread looks up every 0.1 s; at the end of its input it ends at once.
            with contextlib.suppress(OSError):
                if isinstance(carrier, socket.socket):
                    carrier.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(Exception):
                # The clock of a handshake that failed ticks on, and holds up the program's end.
                transport.packetizer.complete_handshake()
                transport.close()
            # paramiko leaves the socket open when its thread has ended before.
            with contextlib.suppress(Exception):
                carrier.close()
            if transport.ident is not None:
                transport.join(JOIN_TIMEOUT_S)

    def answers(self, timeout_s: float = PROBE_TIMEOUT_S) -> bool:
        """Whether the far end still answers. paramiko's own keepalives go unanswered for ever."""
        transport = self.last
        probe = threading.Thread(
            target=_ask_for_a_reply, args=(transport,), daemon=True, name="ssh-alive"
        )
        probe.start()
        probe.join(timeout_s)
        if not probe.is_alive():
            return bool(transport.is_active())
        self.close()  # the probe sees that, and ends
        probe.join(JOIN_TIMEOUT_S)
        return False

    @contextmanager
    def bounded(self, timeout_s: float) -> Iterator[None]:
        """Cuts the connection when the body takes longer: paramiko waits in places without end."""
        if not self._links:
            raise EOFError("the connection is closed")
        timer = threading.Timer(timeout_s, self.last.close)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _carrier(self, host: ResolvedHost) -> Any:
        where = (host.hostname, host.port)
        if self._links:
            return self.last.open_channel(
                "direct-tcpip", where, ("127.0.0.1", 0), timeout=CONNECT_TIMEOUT_S
            )
        connection = socket.create_connection(where, timeout=CONNECT_TIMEOUT_S)
        # Starting a command is several small packets; held back they cost 40 ms each time.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _notice_dead_peers(connection)
        return connection

    def _greet(self, transport: Any, host: ResolvedHost) -> None:
        """Agrees on ciphers and verifies the host, before anything of ours is sent."""
        known = keys_on_record(host)
        options = transport.get_security_options()
        options.key_types = preferred_kinds(options.key_types, known)
        transport.start_client(timeout=HANDSHAKE_TIMEOUT_S)
        shown = transport.get_remote_server_key()
        verify(host, HostKey(shown.get_name(), shown.asbytes()), known)


def _ask_for_a_reply(transport: Any) -> None:
    with contextlib.suppress(Exception):
        transport.global_request("keepalive@openssh.com", wait=True)


def _notice_dead_peers(connection: socket.socket) -> None:
    """Lets the kernel give up on a silent peer as soon as ssh would; what it lacks is left out."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    limits = {
        "TCP_KEEPIDLE": ALIVE_INTERVAL_S,
        "TCP_KEEPINTVL": ALIVE_INTERVAL_S,
        "TCP_KEEPCNT": ALIVE_COUNT,
        "TCP_USER_TIMEOUT": ALIVE_INTERVAL_S * ALIVE_COUNT * 1000,
    }
    for name, value in limits.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
