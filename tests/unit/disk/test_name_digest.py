"""The short digest is that of SHA-256, whichever library computes it, and loads no OpenSSL."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from scratchflow.disk.name_digest import name_digest


@pytest.mark.parametrize("content", [b"", b"/fsx/alice/store/work", bytes(100_000)])
def test_it_is_the_beginning_of_the_sha256(content: bytes) -> None:
    assert name_digest(content) == hashlib.sha256(content).hexdigest()[:16]


@pytest.mark.parametrize(("hidden", "loaded"), [([], False), (["_sha256", "_sha2"], True)])
def test_openssl_is_loaded_only_where_python_has_no_sha256_of_its_own(
    hidden: list[str], loaded: bool
) -> None:
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({hidden!r}))\n"
        "from scratchflow.disk.name_digest import name_digest\n"
        "print(name_digest(b'x'), '_hashlib' in sys.modules)"
    )
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [name_digest(b"x"), str(loaded)]
