"""A short digest of something, for a file's name or a note.

By Python's own SHA-256: `hashlib` loads OpenSSL, which takes longer than all that a short command computes with it.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import Any

_CHARACTERS = 16
# Up to Python 3.11, and from 3.12 on.
_OWN = ("_sha256", "_sha2")


def name_digest(content: bytes) -> str:
    """The first 16 characters of its SHA-256."""
    return str(_sha256(content).hexdigest())[:_CHARACTERS]


def _sha256(content: bytes) -> Any:
    for name in _OWN:
        with suppress(ImportError):
            return importlib.import_module(name).sha256(content)
    import hashlib  # a Python that was built without its own

    return hashlib.sha256(content)
