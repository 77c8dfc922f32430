"""A bundle holds all that is imported, nothing that is not needed, and the same bytes each time."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from scratchflow.agent.delivery.bundle import assemble, pack
from scratchflow.agent.delivery.source import package_files
from tests.unit.agent.delivery.this_machine import this_target

ROOT = Path(__file__).resolve().parents[4]


def test_the_package_goes_byte_for_byte() -> None:
    files = assemble(this_target())
    for path in ("scratchflow/__init__.py", "scratchflow/agent/there/start.sh"):
        assert files[path] == (ROOT / path).read_bytes()
    unwanted = ("__pycache__", ".pyc", "scratchflow/testing", "RECORD", "INSTALLER", "bin/")
    assert [path for path in files if any(word in path for word in unwanted)] == []


@pytest.mark.slow
def test_equal_parts_give_equal_bytes() -> None:
    files = package_files()
    assert pack(files) == pack(dict(reversed(files.items())))
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(pack(files)))) as archive:
        members = archive.getmembers()
    assert {(one.mtime, one.uid, one.uname, one.mode) for one in members} == {
        (315532800, 0, "", 0o600)
    }
