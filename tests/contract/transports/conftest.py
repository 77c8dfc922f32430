"""Labs: one for a whole module that only reads, one for each test that breaks things."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.transports.lab import Lab


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
