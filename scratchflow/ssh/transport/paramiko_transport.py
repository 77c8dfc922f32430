"""The transport that speaks ssh by itself: no process for each command, one login for all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from scratchflow.model.errors.ssh import CommandTimedOut
from scratchflow.process.child import Completed
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.base import (
    CONNECT_TIMEOUT_S,
    STDERR_TAIL_BYTES,
    Feed,
    Stream,
    Transport,
    far_command,
    shown_command,
)
from scratchflow.ssh.transport.paramiko_chain import Chain
from scratchflow.ssh.transport.paramiko_command import FarCommand
from scratchflow.ssh.transport.paramiko_library import as_our_error
from scratchflow.ssh.transport.paramiko_login import Ask, Login

_STEP_S = 1.0


class ParamikoTransport(Transport):
    """Connects with what `ssh -G` says, hop by hop. Without `ask` nothing is ever asked.

    It cannot do what only the system's ssh can: ProxyCommand, FIDO and PKCS#11 keys, Kerberos,
    certificates. `choose` knows.
    """

    def __init__(
        self,
        chain: Sequence[ResolvedHost],
        *,
        environment: Mapping[str, str],
        ask: Ask | None = None,
        reason: str = "",
    ) -> None:
        self._hosts = tuple(chain)
        self._login = Login(environment, ask)
        self._asks = ask is not None
        self._chain: Chain | None = None
        self.host = self._hosts[-1].name
        self.reason = reason or "as set"

    def connect(self) -> None:
        """Connects hop by hop, unless that is done."""
        self._connected()

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        return self._run(self._connected(), argv, stdin or b"", timeout_s)

    def run_beside(self, argv: Sequence[str], *, timeout_s: float) -> Completed | None:
        chain = self._chain
        return self._run(chain, argv, b"", timeout_s) if chain and chain.is_open else None

    def _run(self, chain: Chain, argv: Sequence[str], stdin: bytes, timeout_s: float) -> Completed:
        words = far_command(argv)
        deadline = time.monotonic() + timeout_s
        with as_our_error(self._hosts[-1]):
            command = FarCommand(chain, words, self.host, stdin=stdin, hold_stdin=False)
            try:
                while command.step(min(_STEP_S, max(0.0, deadline - time.monotonic()))):
                    if time.monotonic() > deadline:
                        raise self._given_up(argv, timeout_s, chain)
                return Completed(command.returncode(), bytes(command.stdout), bytes(command.stderr))
            finally:
                command.close()

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> Stream:
        words = far_command(argv)
        chain = self._connected()
        with as_our_error(self._hosts[-1]):
            command = FarCommand(
                chain, words, self.host, stdin=stdin, feed=feed, hold_stdin=hold_stdin
            )
        return _Lines(command, self._hosts[-1])

    def describe(self) -> str:
        through = "".join(f" through {hop.name}" for hop in self._hosts[:-1])
        return f"paramiko to {self.host}{through} ({self.reason})"

    def close(self) -> None:
        if self._chain:
            self._chain.close()
            self._chain = None

    def _connected(self) -> Chain:
        if self._chain and self._chain.is_open:
            return self._chain
        self.close()
        self._chain = Chain(asks=self._asks)
        try:
            for host in self._hosts:
                self._chain.add(host, self._login)
        except BaseException:
            self.close()
            raise
        finally:
            self._login.leave_agents()
        return self._chain

    def _given_up(self, argv: Sequence[str], timeout_s: float, chain: Chain) -> CommandTimedOut:
        # A link that is dead must not cost the next command the same wait again.
        chain.answers(CONNECT_TIMEOUT_S / 2)
        return CommandTimedOut(
            command=shown_command(argv), host=self.host, seconds=f"{timeout_s:g}"
        )


class _Lines(Stream):
    def __init__(self, command: FarCommand, host: ResolvedHost) -> None:
        self._command = command
        self._host = host
        self._searched = 0

    def __next__(self) -> bytes:
        while self.returncode is None:
            if (line := self._whole_line()) is not None:
                return line
            with as_our_error(self._host):
                running = self._command.step(_STEP_S)
                self._keep_tail()
                if not running:
                    self.returncode = self._command.returncode()
        if (line := self._whole_line()) is not None:
            return line
        rest = bytes(self._command.stdout)
        self._command.stdout.clear()
        self._searched = 0
        if rest:
            return rest
        raise StopIteration

    def close(self) -> None:
        self._command.close()
        if self.returncode is None:
            self.returncode = -1

    def give_up(self) -> None:
        """Closes the channel alone: the thread that reads sees it at its next step."""
        self._command.close()

    def _whole_line(self) -> bytes | None:
        """The first line of what came, once its end is there; bytes are searched once."""
        buffer = self._command.stdout
        end = buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(buffer)
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        self._searched = 0
        return line

    def _keep_tail(self) -> None:
        stderr = self._command.stderr
        del stderr[: max(0, len(stderr) - STDERR_TAIL_BYTES)]
        self.stderr_tail = bytes(stderr)
