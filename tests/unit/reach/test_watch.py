"""A look after a process tells one that works from one that was stopped, is gone, or is another host's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from scratchflow.model.events import Hello
from scratchflow.process.child import Completed, run_child
from scratchflow.reach.watch import Looks, Seen


def look(looks: Looks, pid: int, host: str = "") -> Seen:
    hello = Hello(version="1", pid=pid, host=host or os.uname().nodename, role="login")
    return looks.read(run_child(looks.argv(hello), timeout_s=60))


def test_one_that_works_or_waits_is_well() -> None:
    assert look(Looks(), os.getpid()).kind == "well"


def test_one_that_was_stopped_is_told() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        sleeper.send_signal(signal.SIGSTOP)
        os.waitpid(sleeper.pid, os.WUNTRACED)
        seen = look(Looks(), sleeper.pid)
        assert (seen.kind, "was stopped" in seen.reason) == ("unsure", True)
        sleeper.send_signal(signal.SIGCONT)
        os.waitpid(sleeper.pid, os.WCONTINUED)
        assert look(Looks(), sleeper.pid).kind == "well"
    finally:
        sleeper.kill()
        sleeper.wait()


def test_one_that_is_gone_is_lost() -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    assert look(Looks(), ended.pid).kind == "lost"


def test_another_host_is_never_believed() -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    assert look(Looks(), ended.pid, host=f"not-{socket.gethostname()}").kind == "well"


@pytest.mark.parametrize(
    ("second", "kind"), [(b"there D 70 8\n", "unsure"), (b"there D 71 8\n", "well")]
)
def test_one_that_waits_for_a_disk_is_told_when_it_has_not_moved(second: bytes, kind: str) -> None:
    looks = Looks()
    assert looks.read(Completed(0, b"there D 70 8\n")).kind == "well"
    assert looks.read(Completed(0, second)).kind == kind


def test_words_of_what_carries_the_look_say_nothing() -> None:
    assert Looks().read(Completed(1, b"srun: error\n")).kind == "unsure"
