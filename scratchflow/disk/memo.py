"""Small files that only save time: whoever reads sees the old one or the new one, and after a power cut perhaps none.

What must be there after a power cut is written by `durable`. Little is imported here: `run` must start fast.
"""

from __future__ import annotations

import os
from contextlib import suppress


def write_memo(path: str, content: bytes) -> None:
    """Makes `path`, in a directory of the user's own, hold this. OSError says why it could not be, and leaves nothing."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    aside = f"{path}.{os.urandom(4).hex()}"
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(aside, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(aside)
        raise
