"""Looks for what a transport left behind: processes, threads and descriptors."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.contract.ssh.lab import Lab

THOROUGH = bool(os.environ.get("SCRATCHFLOW_THOROUGH"))


def ssh_processes(lab: Lab) -> list[str]:
    """Commands and shared connections (`ssh: PATH [mux]`) of this lab."""
    shown = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True)
    lines = shown.stdout.splitlines()
    return [
        line for line in lines if line.startswith(("ssh ", "ssh:")) and str(lab.directory) in line
    ]


def assert_no_ssh_is_left(lab: Lab) -> None:
    deadline = time.monotonic() + 60
    while ssh_processes(lab) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ssh_processes(lab) == []


@contextmanager
def nothing_left() -> Iterator[None]:
    """No thread and no descriptor is there afterwards that was not there before."""
    threads, files = set(threading.enumerate()), len(os.listdir("/dev/fd"))
    yield
    left = set(threading.enumerate()) - threads
    for thread in left:
        thread.join(60)  # one that was told to end may need a moment
    assert [thread.name for thread in left if thread.is_alive()] == []
    assert len(os.listdir("/dev/fd")) <= files
