"""A child process of this machine: started in a session of its own, run to its end, or ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial

import msgspec

from scratchflow.model.text import last_line
from scratchflow.process.interrupted import Interrupted
from scratchflow.process.waiting import looks

GRACE_S = 2.0
"""How long a process may take to end after SIGTERM, before it is killed."""
_LOOK_S = 0.05


class Completed(msgspec.Struct, frozen=True):
    """A command that ended by itself, here or on another host.

    `returncode` is negative when a signal ended it; ssh does not say which signal, so there it is -1.
    A transport gives 127 or 126 for a program that could not be started, as a shell does.
    """

    returncode: int
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def text(self) -> str:
        """Its stdout; bytes that are not UTF-8 become surrogate escapes."""
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def error_text(self) -> str:
        """Its stderr, in the same way."""
        return self.stderr.decode("utf-8", "surrogateescape")

    @property
    def last_line(self) -> str:
        """What an error message quotes: the last line of stderr, or of stdout if stderr is empty."""
        said = last_line(self.error_text) or last_line(self.text)
        return said or f"exit code {self.returncode} without a word"


class ChildTimedOut(Exception):
    """The process did not end in time; it is gone now."""


class Children:
    """The processes that one thread starts, so that another one can give up on all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._is_over = False

    @contextlib.contextmanager
    def of_this_thread(self) -> Iterator[None]:
        """Counts what this thread starts from now on."""
        before = _CHILDREN.set(self)
        try:
            yield
        finally:
            _CHILDREN.reset(before)

    def started(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """What `start` starts; Interrupted when it is too late for that."""
        with self._lock:
            if self._is_over:
                raise Interrupted(signal.SIGTERM)
            self._processes = [one for one in self._processes if one.poll() is None]
            self._processes.append(process := start())
            return process

    def end(self) -> None:
        """Ends those that still run. The thread meets their end, tidies up, and can start no other."""
        with self._lock:
            self._is_over = True
            late = list(self._processes)
        for process in late:
            kill_child(process)

    def kill(self) -> None:
        """Kills those that still run, and waits for none."""
        with self._lock:
            late = [one for one in self._processes if one.poll() is None]
        for process in late:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)


_CHILDREN: ContextVar[Children | None] = ContextVar("children", default=None)


def run_child(
    argv: Sequence[str | bytes],
    *,
    stdin: bytes | None = None,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> Completed:
    """Runs a program to its end and returns what it printed; the OSError if it cannot be started."""
    process = start_child(argv, environment, has_stdin=stdin is not None)
    try:
        stdout, stderr = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise ChildTimedOut from None
    finally:
        end_child(process)
    return Completed(process.returncode, stdout, stderr)


def run_alone(argv: Sequence[str | bytes], *, timeout_s: float) -> Completed:
    """The same for a program that may leave others running: its own end counts, and they are ended with it.

    What has made a session of its own, as daemons do, goes on, and is not waited for.
    """
    import tempfile  # this module is loaded with every start, and that takes a tenth of one

    # Into files: whoever is left would keep a pipe open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=error,
            start_new_session=True,
        )
        try:
            if not wait_for_child(process, timeout_s):
                raise ChildTimedOut
        finally:
            kill_child(process)
            end_group(process.pid)
        output.seek(0)
        error.seek(0)
        return Completed(process.returncode, output.read(), error.read())


def start_child(
    argv: Sequence[str | bytes], environment: Mapping[str, str] | None, *, has_stdin: bool
) -> subprocess.Popen[bytes]:
    """Starts a program with pipes to its outputs, and to its input if it has one."""
    return counted(partial(_start, argv, environment, has_stdin=has_stdin))


def counted(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """What `start` starts, so that whoever gives up on this thread ends it."""
    children = _CHILDREN.get()
    return children.started(start) if children is not None else start()


def _start(
    argv: Sequence[str | bytes], environment: Mapping[str, str] | None, *, has_stdin: bool
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE if has_stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        # Ctrl-C in the terminal reaches us alone; we decide what becomes of the child.
        start_new_session=True,
    )


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and its children if they still run; closes every pipe to it."""
    kill_child(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


def wait_for_child(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether the process ends within this time.

    Python's own wait with a time limit looks now and then, at longer and longer intervals; the kernel tells at once.
    """
    if process.poll() is not None:
        return True
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # another system, or an old kernel
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout_s)
        return process.poll() is not None
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(timeout_s * 1000)
    finally:
        os.close(descriptor)
    return process.poll() is not None


def kill_child(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and its children if they still run: SIGTERM, then SIGKILL."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            break
        # It leads its own group, so this reaches what it started, and never us.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signum)
        wait_for_child(process, GRACE_S)


def end_group(group: int) -> None:
    """Ends what a child that has ended left running in its process group: SIGTERM, then SIGKILL.

    What has made a session of its own, as daemons do, is not in the group.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGTERM)
        for _ in looks(GRACE_S, _LOOK_S):
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)
