"""One command over an open connection: bytes in, bytes out, how it ended. No thread of its own."""

from __future__ import annotations

import contextlib
import select
import time
from typing import Any

from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.ssh.transport.base import ALIVE_COUNT, ALIVE_INTERVAL_S, CONNECT_TIMEOUT_S, Feed
from scratchflow.ssh.transport.paramiko_chain import Chain

# paramiko tells when there is something to read, not when there is room to write.
_ROOM_POLL_S = 0.01
_CHUNK_BYTES = 1 << 15  # what one ssh packet carries
# However much there is to send or to read: what comes the other way has its turn.
_FEED_S = 0.1
_READ_BYTES = 1 << 20
_STALL_S = float(ALIVE_INTERVAL_S * ALIVE_COUNT)


class FarCommand:
    """A running command. `step` moves bytes; `stdout` and `stderr` collect what came."""

    def __init__(
        self,
        chain: Chain,
        command: bytes,
        host: str,
        *,
        stdin: bytes,
        hold_stdin: bool,
        feed: Feed | None = None,
    ) -> None:
        self._chain = chain
        self._host = host
        self._pending = memoryview(stdin)
        self._more = feed
        self._hold_stdin = hold_stdin
        self._heard_at = time.monotonic()
        self.stdout = bytearray()
        self.stderr = bytearray()
        with chain.bounded(CONNECT_TIMEOUT_S + ALIVE_INTERVAL_S):
            self._channel: Any = chain.last.open_session(timeout=CONNECT_TIMEOUT_S)
            try:
                self._channel.exec_command(command)
            except BaseException:
                self.close()
                raise
        self._poll = select.poll()
        self._poll.register(self._channel.fileno(), select.POLLIN)
        self._feed()

    def step(self, wait_s: float) -> bool:
        """Waits for something to happen and moves the bytes; False when all is over."""
        self._feed()
        over = self._is_over()
        if not over:
            self._wait(_ROOM_POLL_S if self._pending or self._more else wait_s)
        if self._read():
            self._heard_at = time.monotonic()
        elif not over and time.monotonic() - self._heard_at > ALIVE_INTERVAL_S:
            self._require_answer()
        return not over or bool(self._channel.recv_ready() or self._channel.recv_stderr_ready())

    def returncode(self) -> int:
        """How it ended, once it is over; raises when it was the connection that ended."""
        status = int(self._channel.exit_status)
        if status != -1:
            return status
        # No status: a signal ended the command, or the connection broke. Only one still answers.
        if not self._channel.eof_received or not self._chain.answers(CONNECT_TIMEOUT_S):
            raise ConnectionLost(host=self._host, reason="it was cut while a command ran")
        return -1

    def close(self) -> None:
        """Closes the channel: the far command meets a broken pipe and the end of its input."""
        with contextlib.suppress(Exception):
            self._channel.close()

    def _feed(self) -> None:
        """Sends what the far side has room for, and the end of the input after it."""
        channel = self._channel
        until = time.monotonic() + _FEED_S
        try:
            while channel.send_ready() and self._has_pending() and time.monotonic() < until:
                with self._chain.bounded(_STALL_S):
                    sent = channel.send(bytes(self._pending[:_CHUNK_BYTES]))
                self._pending = self._pending[sent:]
                self._heard_at = time.monotonic()
            if not self._pending and self._more is None and not self._hold_stdin:
                self._hold_stdin = True  # once is enough
                channel.shutdown_write()
        except (OSError, EOFError):  # it does not want to hear more
            self._pending, self._more = memoryview(b""), None

    def _has_pending(self) -> bool:
        if not self._pending and self._more is not None:
            piece = next(self._more, None)
            if piece is None:
                self._more = None
            else:
                self._pending = memoryview(piece)
        return bool(self._pending)

    def _wait(self, wait_s: float) -> None:
        if self._channel.eof_received:
            # Its outputs are closed and would look readable for ever; its status is still to come.
            self._channel.status_event.wait(wait_s)
        else:
            self._poll.poll(wait_s * 1000)

    def _read(self) -> bool:
        heard = False
        enough = (
            len(self.stdout) + _READ_BYTES
        )  # what comes faster than it is used waits over there
        while len(self.stdout) < enough and self._channel.recv_ready():
            self.stdout += self._channel.recv(_CHUNK_BYTES)
            heard = True
        while self._channel.recv_stderr_ready():
            self.stderr += self._channel.recv_stderr(_CHUNK_BYTES)
            heard = True
        return heard

    def _is_over(self) -> bool:
        channel = self._channel
        return bool(channel.closed or (channel.eof_received and channel.exit_status_ready()))

    def _require_answer(self) -> None:
        if not self._chain.answers():
            raise ConnectionLost(host=self._host, reason="it stopped answering")
        self._heard_at = time.monotonic()
