"""Labs: one for a whole module that only reads, one for each test that breaks things."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.ssh.lab import Lab


@pytest.fixture(autouse=True)
def no_thread_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test here is a leak test; transports that a whole module shares have theirs already."""
    if "transport" in request.fixturenames:
        request.getfixturevalue("transport").connect()
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(2)  # one that was told to end may need a moment
    assert [thread.name for thread in left if thread.is_alive()] == []


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    # A short path: shared connections are sockets, whose paths must be short.
    directory = Path(tempfile.mkdtemp(prefix="lab-"))
    lab = Lab.build(directory)
    yield lab
    lab.close()
    shutil.rmtree(directory)


@pytest.fixture
def lab() -> Iterator[Lab]:
    directory = Path(tempfile.mkdtemp(prefix="lab-"))
    lab = Lab.build(directory)
    yield lab
    lab.close()
    shutil.rmtree(directory)
