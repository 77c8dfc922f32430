"""What is kept of a crash: enough to find the bug, nothing of the user's values."""

from __future__ import annotations

import os
import platform
import secrets
import traceback
from collections.abc import Sequence
from pathlib import Path

from scratchflow import __version__
from scratchflow.disk.durable import write_new
from scratchflow.report.redact import redact, redact_arguments


def write_crash_report(error: BaseException, arguments: Sequence[str]) -> str:
    """Writes the report and returns its path, or the report's last line when it cannot be written.

    A failing disk may be the very reason of the crash, so this never raises an OSError.
    """
    text = crash_text(error, arguments)
    try:
        return str(_write(text))
    except (OSError, RuntimeError):  # the second: nobody knows a home directory
        return text.strip().rpartition("\n")[2].strip()


def crash_text(error: BaseException, arguments: Sequence[str]) -> str:
    """Version, platform, command line and stack; no local variables, secrets masked."""
    stack = traceback.TracebackException.from_exception(error, capture_locals=False)
    lines = [
        f"scratchflow {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"arguments: {redact_arguments(arguments)}",
        redact("".join(stack.format())),
    ]
    return "\n".join(lines)


def _write(text: str) -> Path:
    import platformdirs

    directory = platformdirs.user_state_path("scratchflow", appauthor=False) / "crashes"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / f"crash-{os.getpid()}-{secrets.token_hex(4)}.txt"
    write_new(path, text.encode("utf-8", "backslashreplace"), mode=0o600)
    return path
