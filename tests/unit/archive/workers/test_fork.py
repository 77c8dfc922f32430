"""Helpers: what they inherit, which signals reach them, and how they end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pytest

from scratchflow.archive.workers.fork import end_helper, fork_helper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only")


def _answer(work: Callable[[], bytes]) -> tuple[bytes, int]:
    """What a helper says, and how it ended."""
    reading, writing = os.pipe()
    process = fork_helper(lambda: _write(writing, work()), [writing])
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    return said, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _write(descriptor: int, content: bytes) -> None:
    os.write(descriptor, content)


def test_a_helper_knows_what_the_asker_knew_and_ends_with_zero() -> None:
    known = {"a": 1}
    assert _answer(lambda: repr(known).encode()) == (b"{'a': 1}", 0)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_goes_wrong_the_helper_ends_and_says_so(error: type[BaseException]) -> None:
    def fail() -> bytes:
        raise error

    assert _answer(fail) == (b"", 1)


def test_no_descriptor_but_those_kept_lives_on_in_a_helper() -> None:
    lock, other = os.pipe()
    said, _ = _answer(lambda: repr(os.listdir("/proc/self/fd")).encode())
    assert str(lock) not in said.decode().replace("'", " ").split()
    assert len(eval(said)) == 2  # noqa: S307 - the one kept, and the listing's own
    os.close(lock)
    os.close(other)


def test_signals_that_end_a_job_do_not_end_a_helper_but_a_lost_reader_does() -> None:
    def survive() -> bytes:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
        return b"still here"

    assert _answer(survive) == (b"still here", 0)
    reading, writing = os.pipe()
    process = fork_helper(lambda: _write(writing, b"nobody reads"), [writing])
    os.close(reading)
    os.close(writing)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in {0, -signal.SIGPIPE}  # 0 when it wrote before the reader went


def test_the_askers_own_signals_are_as_before() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    _answer(lambda: b"")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_signal_that_comes_while_a_helper_is_made_leaves_no_helper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    real = os.fork

    def fork_and_interrupt() -> int:
        process = real()
        if process:
            made.append(process)
            signal.raise_signal(
                signal.SIGINT
            )  # to this thread: it waits until the mask is taken away
        return process

    monkeypatch.setattr(os, "fork", fork_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        fork_helper(signal.pause, [])
    with pytest.raises(ProcessLookupError):
        os.kill(made[0], 0)


def test_a_helper_at_work_is_ended_and_one_that_is_gone_is_no_error() -> None:
    process = fork_helper(signal.pause, [])
    end_helper(process)
    with pytest.raises(ChildProcessError):
        os.waitpid(process, 0)
    end_helper(process)
