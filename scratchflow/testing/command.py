"""How a command ended, for a fake that answers in its place."""

from __future__ import annotations

from scratchflow.process.child import Completed


def completed(returncode: int, stdout: str = "", stderr: str = "") -> Completed:
    """A command that printed these texts."""
    return Completed(
        returncode,
        stdout.encode("utf-8", "surrogateescape"),
        stderr.encode("utf-8", "surrogateescape"),
    )
