"""A command on another machine in the foreground here: a program (`ssh`, `srun`) carries its input and output.

The far end says with lines of its own when the command starts and how it ends (`far_words.py`), so a lost connection
is never mistaken for an exit code. Little is imported here: `run` must start fast.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import stat
import time

TYPE_CHECKING = False  # `typing` itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # Sends a signal to the far command: its process group, and the signal's name without `SIG`.
    Kill = Callable[[int, str], Sequence[str]]

_CHUNK_BYTES = 1 << 16
_MOST_PENDING_BYTES = 1 << 18
_MOST_NOISE_BYTES = 1 << 16
_MARK = b"\001"
# How the lines begin by which Slurm says that a step was killed.
_OF_SLURM = (b"srun: ", b"slurmstepd: ")
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# How long the far end has to end after it was killed.
GIVE_UP_S = 10.0


class Outcome:
    """How it went. `code` is the command's own exit code, 128 and more for a signal; None when nobody said."""

    def __init__(self) -> None:
        self.started = False
        self.group = 0
        self.code: int | None = None
        self.no_directory = False
        self.noise = b""
        """What came on stderr before the command started: the words of whoever refused it."""
        self.carrier_code = 0
        self.unwritten = ""
        """Why output of the command could not be written here, though somebody wanted it."""
        self.signals: list[int] = []


def carry(
    argv: Sequence[str],
    token: str,
    *,
    kill: Kill,
    environment: Mapping[str, str],
    on_start: Callable[[], None] = lambda: None,
) -> Outcome:
    """Runs the program with our stdin, stdout and stderr as those of the far command, until it ends.

    A signal that would end us goes to the far command instead, which decides; a second one is SIGTERM to it, a third
    one SIGKILL. Nothing is read from our stdin before the command has started.
    """
    return _Carried(argv, token, kill, environment, on_start).run()


class _Carried:
    """One program, the pipes to it, and what has still to be moved through them."""

    def __init__(
        self,
        argv: Sequence[str],
        token: str,
        kill: Kill,
        environment: Mapping[str, str],
        on_start: Callable[[], None],
    ) -> None:
        self.outcome = Outcome()
        self._argv, self._kill, self._environment = argv, kill, dict(environment)
        self._on_start = on_start
        self._stdout = Marked(token, 1)
        self._stderr = Marked(token, 2)
        self._reading: dict[int, Marked] = {}
        self._input = bytearray()
        self._stdin: int | None = 0
        self._to_child: int | None = None
        self._helpers: list[int] = []
        self._undelivered: list[int] = []
        self._give_up_at: float | None = None

    def run(self) -> Outcome:
        """Starts the program and moves bytes until it has closed its output."""
        with Signals() as signals:
            child = self._start()
            try:
                self._relay(signals)
            finally:
                self._close()
                self.outcome.carrier_code = exit_code_of(child)
                for helper in self._helpers:
                    exit_code_of(helper)
        self.outcome.noise = bytes(self._stderr.noise)
        return self.outcome

    def _start(self) -> int:
        pipes = [os.pipe() for _ in range(3)]
        (stdin, self._to_child), (out, stdout), (err, stderr) = pipes
        os.set_blocking(self._to_child, False)
        self._reading = {out: self._stdout, err: self._stderr}
        try:
            return spawn(self._argv, (stdin, stdout, stderr), self._environment)
        except OSError:
            self._close()
            raise
        finally:
            for descriptor in (stdin, stdout, stderr):
                os.close(descriptor)

    def _relay(self, signals: Signals) -> None:
        while self._reading or self._stdout.pending or self._stderr.pending:
            for descriptor, events in self._poll(signals).poll(self._patience_ms()):
                if descriptor == signals.descriptor:
                    for signum in signals.heard():
                        self._interrupt(signum)
                elif descriptor in self._reading:
                    self._hear(descriptor)
                elif descriptor == self._to_child:
                    self._feed(events)
                elif descriptor == 0:
                    self._read_input()
                else:
                    self._write(self._stdout if descriptor == 1 else self._stderr)
            if self._stdin is None and not self._input:
                self._close_input()
            if self._give_up_at is not None and time.monotonic() > self._give_up_at:
                break

    def _poll(self, signals: Signals) -> select.poll:
        """What could move now: nobody's slowness stops what goes another way."""
        poll = select.poll()
        poll.register(signals.descriptor, select.POLLIN)
        if self._to_child is not None:
            poll.register(self._to_child, select.POLLOUT if self._input else 0)
            if self._stdin is not None and self.outcome.started and not self._input:
                poll.register(self._stdin, select.POLLIN)
        for descriptor, marked in self._reading.items():
            if len(marked.pending) < _MOST_PENDING_BYTES:
                poll.register(descriptor, select.POLLIN)
        for marked in (self._stdout, self._stderr):
            if marked.pending:
                poll.register(marked.target, select.POLLOUT)
        return poll

    def _patience_ms(self) -> float | None:
        if self._give_up_at is None:
            return None
        return max(0.0, self._give_up_at - time.monotonic()) * 1000 + 10

    def _hear(self, descriptor: int) -> None:
        marked = self._reading[descriptor]
        piece = os.read(descriptor, _CHUNK_BYTES)
        marked.take(piece)
        if not piece:
            del self._reading[descriptor]
            os.close(descriptor)
        if marked is self._stderr:
            self._understand()

    def _understand(self) -> None:
        """What the far end says of the command."""
        outcome = self.outcome
        for word, number in self._stderr.said:
            if word == b"started":
                outcome.started, outcome.group = True, int(number)
                self._on_start()
                for signum in self._undelivered:
                    self._pass_on(signum)
            elif word == b"ended":
                outcome.code = int(number)
            elif word == b"nodir":
                outcome.no_directory = True
        self._stderr.said.clear()

    def _read_input(self) -> None:
        try:
            piece = os.read(0, _CHUNK_BYTES)
        except OSError:  # a terminal that is gone
            piece = b""
        self._input += piece
        if not piece:
            self._stdin = None

    def _feed(self, events: int) -> None:
        """Gives the program what we have read, while it takes any."""
        if self._to_child is None or events & (select.POLLERR | select.POLLHUP):
            self._close_input()
            return
        try:
            sent = os.write(self._to_child, self._input)
        except BlockingIOError:
            return
        except OSError:
            self._close_input()
            return
        del self._input[:sent]

    def _close_input(self) -> None:
        if self._to_child is not None:
            os.close(self._to_child)
        self._to_child = self._stdin = None
        self._input.clear()

    def _close(self) -> None:
        self._close_input()
        for descriptor in self._reading:
            os.close(descriptor)
        self._reading = {}

    def _write(self, marked: Marked) -> None:
        try:
            marked.write()
        except BlockingIOError:
            return
        except OSError as error:
            marked.drop()
            if error.errno != errno.EPIPE and not self.outcome.unwritten:
                self.outcome.unwritten = error.strerror or str(error)
            # A full disk here is to the far command what a reader is that has left: it need not go on.
            if self.outcome.code is None:
                self._pass_on(signal.SIGPIPE)

    def _interrupt(self, signum: int) -> None:
        self.outcome.signals.append(signum)
        times = len(self.outcome.signals)
        if times > 1:
            signum = signal.SIGTERM if times == 2 else signal.SIGKILL
        if times > 2:
            self._stderr.expect_kill()
        if self.outcome.started:
            self._pass_on(signum)
        else:
            self._undelivered.append(signum)
        if times > 2 or (times == 2 and not self.outcome.started):
            wait_s = GIVE_UP_S if self.outcome.started else 0.0
            self._give_up_at = self._give_up_at or time.monotonic() + wait_s

    def _pass_on(self, signum: int) -> None:
        name = signal.Signals(signum).name.removeprefix("SIG")
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            argv = self._kill(self.outcome.group, name)
            self._helpers.append(spawn(argv, (nothing, nothing, nothing), self._environment))
        finally:
            os.close(nothing)


class Signals:
    """The ending signals as numbers to read; what was ignored at the start stays ignored."""

    def __init__(self) -> None:
        self.descriptor, self._wake = os.pipe()
        for end in (self.descriptor, self._wake):
            os.set_blocking(end, False)
        self._before: dict[int, Any] = {}
        self._woken_before = -1

    def heard(self) -> list[int]:
        """Those that came since the last look."""
        return [number for number in os.read(self.descriptor, 64) if number in self._before]

    def __enter__(self) -> Signals:
        for number in _FORWARDED:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, _nothing)
        self._woken_before = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._woken_before)
        for number, before in self._before.items():
            signal.signal(number, before)
        for end in (self.descriptor, self._wake):
            os.close(end)


def spawn(
    argv: Sequence[str], streams: tuple[int, int, int], environment: Mapping[str, str]
) -> int:
    """Starts a program with these streams, in a process group of its own: Ctrl-C is for us to pass on."""
    return os.posix_spawnp(
        argv[0],
        [os.fsencode(word) for word in argv],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate(streams)],
        setpgroup=0,
        # Python ignores this one, and children would inherit that.
        setsigdef=[signal.SIGPIPE],
    )


def exit_code_of(pid: int) -> int:
    """How it ended; waits for that."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Marked:
    """One output of the far command. What comes before our first line is noise; our lines are taken out."""

    def __init__(self, token: str, target: int) -> None:
        self.target = target
        self.pending = bytearray()
        self.noise = bytearray()
        self.said: list[tuple[bytes, bytes]] = []
        self._mark = _MARK + token.encode() + b" "
        self._held = b""
        self._line = b""
        self._begun = False
        self._gone = False
        self._killed = False
        # A pipe that can be written to takes this many bytes without making us wait.
        is_file = stat.S_ISREG(os.fstat(target).st_mode)
        self._write_bytes = _CHUNK_BYTES if is_file else select.PIPE_BUF

    def take(self, piece: bytes) -> None:
        """Hears the next bytes, none at the end."""
        data, self._held = self._held + piece, b""
        while True:
            before, mark, after = data.partition(self._mark)
            if not mark:
                break
            line, end, rest = after.partition(b"\n")
            if not end and piece:
                self._pass(before)
                self._held = mark + line
                return
            self._pass(before)
            word, _, number = line.partition(b" ")
            self.said.append((word, number))
            self._begun = self._begun or word == b"started"
            data = rest
        if not piece:
            self._pass(data)
            self._pass_line()
            return
        # The end of it may be the beginning of a mark.
        start = data.rfind(_MARK, max(0, len(data) - len(self._mark)))
        if start >= 0 and self._mark.startswith(data[start:]):
            data, self._held = data[:start], data[start:]
        self._pass(data)

    def write(self) -> None:
        """Writes as much as does not make us wait."""
        sent = os.write(self.target, self.pending[: self._write_bytes])
        del self.pending[:sent]

    def expect_kill(self) -> None:
        """The command is killed from here: that `srun` says so in words of its own is left out from now on."""
        self._killed = True

    def drop(self) -> None:
        """Nobody reads it any more."""
        self._gone = True
        self.pending.clear()

    def _pass(self, data: bytes) -> None:
        if not self._begun:
            self.noise += data
            del self.noise[:-_MOST_NOISE_BYTES]
        elif not self._gone and not self._killed:
            self.pending += data
        elif not self._gone:
            *lines, self._line = (self._line + data).split(b"\n")
            for line in lines:
                self._pass_whole(line + b"\n")

    def _pass_line(self) -> None:
        """What is left of a last line without an end."""
        line, self._line = self._line, b""
        if not self._gone:
            self._pass_whole(line)

    def _pass_whole(self, line: bytes) -> None:
        """A line of the command, up to what carries it: that writes behind what the command wrote last."""
        starts = [at for word in _OF_SLURM if (at := line.find(word)) >= 0]
        self.pending += line[: min(starts)] if starts else line


def _nothing(_: int, __: object) -> None:
    """The signal's number is read from the wakeup descriptor."""
