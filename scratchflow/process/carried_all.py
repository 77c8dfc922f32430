"""One command on several machines at once: every line of output with the name of its machine before it.

Each is carried by a program (`ssh`, `srun`) as in `carried.py`. None of them has any input.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence

from scratchflow.process.carried import GIVE_UP_S, Marked, Outcome, Signals, exit_code_of, spawn

_CHUNK_BYTES = 1 << 16
# A line that is longer is broken.
_MOST_LINE_BYTES = 1 << 20


class Far:
    """The command on one machine: what carries it, and what sends a signal to its process group there."""

    def __init__(
        self, name: str, argv: Sequence[str], token: str, kill: Callable[[int, str], Sequence[str]]
    ) -> None:
        self.name, self.argv, self.kill = name, argv, kill
        self.outcome = Outcome()
        self.stdout, self.stderr = Marked(token, 1), Marked(token, 2)
        # Signals that came before it has started.
        self.undelivered: list[int] = []


def carry_all(fars: Sequence[Far], environment: Mapping[str, str]) -> dict[str, Outcome]:
    """Runs them until all have ended. A signal that would end us goes to every one of them.

    A second one is SIGTERM to them, a third one SIGKILL.
    """
    return _All(fars, environment).run()


class _All:
    def __init__(self, fars: Sequence[Far], environment: Mapping[str, str]) -> None:
        self._fars, self._environment = fars, environment
        self._reading: dict[int, tuple[Far, Marked]] = {}
        self._children: dict[int, Far] = {}
        self._helpers: list[int] = []
        self._signals: list[int] = []
        self._give_up_at: float | None = None
        self._nothing = os.open(os.devnull, os.O_RDWR)

    def run(self) -> dict[str, Outcome]:
        with Signals() as signals:
            try:
                for far in self._fars:
                    self._start(far)
                self._relay(signals)
            finally:
                self._end()
        return {far.name: far.outcome for far in self._fars}

    def _start(self, far: Far) -> None:
        (out, stdout), (err, stderr) = os.pipe(), os.pipe()
        self._reading |= {out: (far, far.stdout), err: (far, far.stderr)}
        try:
            child = spawn(far.argv, (self._nothing, stdout, stderr), self._environment)
        finally:
            os.close(stdout)
            os.close(stderr)
        self._children[child] = far

    def _relay(self, signals: Signals) -> None:
        while self._reading and not self._is_given_up():
            poll = select.poll()
            for descriptor in (signals.descriptor, *self._reading):
                poll.register(descriptor, select.POLLIN)
            for descriptor, _ in poll.poll(self._patience_ms()):
                if descriptor == signals.descriptor:
                    for signum in signals.heard():
                        self._interrupt(signum)
                else:
                    self._hear(descriptor)

    def _patience_ms(self) -> float | None:
        if self._give_up_at is None:
            return None
        return max(0.0, self._give_up_at - time.monotonic()) * 1000 + 10

    def _is_given_up(self) -> bool:
        return self._give_up_at is not None and time.monotonic() > self._give_up_at

    def _hear(self, descriptor: int) -> None:
        far, marked = self._reading[descriptor]
        piece = os.read(descriptor, _CHUNK_BYTES)
        marked.take(piece)
        if not piece:
            del self._reading[descriptor]
            os.close(descriptor)
        if marked is far.stderr:
            self._understand(far)
        self._write_lines(far, marked, is_last=not piece)

    def _understand(self, far: Far) -> None:
        """What the far end says of the command."""
        for word, number in far.stderr.said:
            if word == b"started":
                far.outcome.started, far.outcome.group = True, int(number)
                for signum in far.undelivered:
                    self._pass_on(far, signum)
            elif word == b"ended":
                far.outcome.code = int(number)
            elif word == b"nodir":
                far.outcome.no_directory = True
        far.stderr.said.clear()

    def _write_lines(self, far: Far, marked: Marked, *, is_last: bool) -> None:
        """Whole lines only, so that those of two machines never mix."""
        *lines, rest = bytes(marked.pending).split(b"\n")
        if rest and (is_last or len(rest) > _MOST_LINE_BYTES):
            lines, rest = [*lines, rest], b""
        marked.pending[:] = rest
        before = far.name.encode() + b": "
        try:
            _write_all(marked.target, b"".join(before + line + b"\n" for line in lines))
        except OSError as error:  # nobody reads it any more, or the disk is full
            if error.errno != errno.EPIPE:
                far.outcome.unwritten = error.strerror or str(error)
            for one in self._fars:
                (one.stdout if marked is far.stdout else one.stderr).drop()
                self._pass_on(one, signal.SIGPIPE)

    def _interrupt(self, signum: int) -> None:
        times = len(self._signals) + 1
        if times > 1:
            signum = signal.SIGTERM if times == 2 else signal.SIGKILL
        self._signals.append(signum)
        for far in self._fars:
            if times > 2:
                far.stderr.expect_kill()
            self._pass_on(far, signum)
        if times > 2 or (times == 2 and not any(far.outcome.started for far in self._fars)):
            self._give_up_at = self._give_up_at or time.monotonic() + (
                GIVE_UP_S if times > 2 else 0
            )

    def _pass_on(self, far: Far, signum: int) -> None:
        """One that has not started yet gets it when it does."""
        if not far.outcome.started:
            far.undelivered.append(signum)
            return
        if far.outcome.code is not None:
            return
        name = signal.Signals(signum).name.removeprefix("SIG")
        nothing = (self._nothing, self._nothing, self._nothing)
        argv = far.kill(far.outcome.group, name)
        self._helpers.append(spawn(argv, nothing, self._environment))

    def _end(self) -> None:
        for descriptor in self._reading:
            os.close(descriptor)
        if self._is_given_up():
            for child in self._children:
                os.kill(child, signal.SIGTERM)
        for child, far in self._children.items():
            far.outcome.carrier_code = exit_code_of(child)
            far.outcome.noise = bytes(far.stderr.noise)
            far.outcome.signals = list(self._signals)
        for helper in self._helpers:
            exit_code_of(helper)
        os.close(self._nothing)


def _write_all(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
