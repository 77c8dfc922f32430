"""A program runs to its end or is ended in time, and what it said can be quoted."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from scratchflow.process.child import (
    Children,
    ChildTimedOut,
    Completed,
    end_child,
    run_alone,
    run_child,
    start_child,
    wait_for_child,
)
from scratchflow.process.interrupted import Interrupted


def test_what_it_printed_and_how_it_ended() -> None:
    script = r"cat; printf '\377'; echo words >&2; exit 3"
    done = run_child(["sh", "-c", script], stdin=b"in", timeout_s=60)
    assert done == Completed(3, b"in\xff", b"words\n")
    assert (done.text, done.error_text) == ("in\udcff", "words\n")


@pytest.mark.slow
def test_what_a_program_leaves_running_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The one that is left holds the pipe open, and so its end is seen as the end of what is read there.
    watched = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        script = f"exec 3>{pipe}; sleep 600 & echo out; echo words >&2; exit 3"
        assert run_alone(["sh", "-c", script], timeout_s=60) == Completed(3, b"out\n", b"words\n")
        os.set_blocking(watched, True)
        assert os.read(watched, 1) == b""
    finally:
        os.close(watched)


def test_a_daemon_is_not_waited_for_either(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    daemon = f"echo $$ > {begun}; exec sleep 600"
    script = f"setsid sh -c '{daemon}' & until [ -s {begun} ]; do sleep 0.01; done; cat {begun}"
    done = run_alone(["sh", "-c", script], timeout_s=60)
    os.kill(int(done.stdout), signal.SIGKILL)


def test_a_program_alone_has_a_time_limit_too() -> None:
    with pytest.raises(ChildTimedOut):
        run_alone(["sleep", "600"], timeout_s=0.1)


def test_it_has_the_environment_that_is_given_and_no_other() -> None:
    environment = {"PATH": os.defpath, "GIVEN": "yes"}
    done = run_child(["sh", "-c", "env"], timeout_s=60, environment=environment)
    assert "GIVEN=yes" in done.text.split()
    assert "HOME=" not in done.text


@pytest.mark.slow
def test_a_program_that_ignores_a_polite_request_is_killed() -> None:
    began_s = time.monotonic()
    with pytest.raises(ChildTimedOut):
        run_child(["sh", "-c", "trap '' TERM; sleep 600"], timeout_s=0.3)
    assert time.monotonic() - began_s < 300


@pytest.mark.parametrize("is_told", [True, False], ids=["the kernel tells", "looked at"])
def test_the_end_of_a_process_is_waited_for(monkeypatch: pytest.MonkeyPatch, is_told: bool) -> None:
    if not is_told:
        monkeypatch.delattr(os, "pidfd_open")
    process = start_child(["cat"], None, has_stdin=True)
    try:
        assert not wait_for_child(process, 0.01)
        assert process.stdin
        process.stdin.close()
        assert wait_for_child(process, 60)
        assert (wait_for_child(process, 0), process.returncode) == (True, 0)
    finally:
        end_child(process)


def test_a_signal_is_a_negative_code() -> None:
    done = run_child(["sh", "-c", "kill -9 $$"], timeout_s=60)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("done", "line"),
    [
        (Completed(1, b"out\n", b"first\n  last \n\n"), "last"),
        (Completed(1, b"only\nhere\n", b" \n"), "here"),
        (Completed(2), "exit code 2 without a word"),
    ],
)
def test_an_error_message_quotes_the_last_line(done: Completed, line: str) -> None:
    assert done.last_line == line


def test_what_a_thread_waits_for_can_be_ended_by_another_and_nothing_is_started_after_that() -> (
    None
):
    children, done = Children(), []
    is_ready, may_go_on = threading.Event(), threading.Event()

    def work() -> None:
        with children.of_this_thread():
            process = start_child(["sleep", "600"], None, has_stdin=False)
            is_ready.set()
            done.append(process.wait())
            end_child(process)
            may_go_on.wait(60)
            try:
                run_child(["true"], timeout_s=60)
            except Interrupted:
                done.append(0)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert is_ready.wait(60)
    children.end()
    may_go_on.set()
    thread.join(60)
    assert done == [-signal.SIGTERM, 0]
    assert run_child(["true"], timeout_s=60).returncode == 0, "other threads are not meant"
