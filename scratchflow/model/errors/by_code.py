"""Finds an error by its code, also one that an agent reports. A family is imported when a code leads to it.

`schema/errors.json` and `docs/reference/errors.md` are generated from all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from scratchflow.model.errors.agent import FarError
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.text import printable

# By the first word of a code: the module beside this one that has its class.
FAMILIES = {
    "internal": "base",
    "output": "base",
    "clock": "base",
    "usage": "base",
    "signal": "base",
    "config": "config",
    "setup": "config",
    "ssh_config": "ssh",
    "alias": "ssh",
    "auth": "ssh",
    "host_key": "ssh",
    "connection": "ssh",
    "profile": "ssh",
    "agent": "agent",
    "stream": "agent",
    "slurm": "slurm",
    "tmux": "slurm",
    "allocation": "allocation",
    "node": "allocation",
    "release": "allocation",
    "clear": "allocation",
    "hop": "hop",
    "job": "jobs",
    "logs": "jobs",
    "run": "run",
    "environment": "run",
    "editor": "run",
    "serve": "serve",
    "tunnel": "serve",
    "store": "store",
    "disk": "store",
    "snapshot": "snapshots",
    "archive": "snapshots",
    "workspace": "workspace",
    "scratch": "workspace",
    "create": "workspace",
    "backup": "workspace",
    "autobackup": "workspace",
    "restore": "restore",
    "copy": "transfer",
    "file": "transfer",
    "mirror": "transfer",
    "sync": "sync",
}


def error_from_agent(
    code: str, message: str, hint: str, *, retryable: bool, exit_code: int
) -> ScratchflowError:
    """The error that an agent reported, as its class here, in the agent's own words.

    A code that is not known here keeps everything as told, as a `FarError`.
    """
    kind = _kind_of(code)
    error = kind.__new__(kind)
    Exception.__init__(error, printable(message))
    error.fields = {}
    error.code = printable(code)
    error.retryable = retryable
    # Other numbers are not for an error, or not for a process.
    error.exit_code = exit_code if 1 <= exit_code <= 255 else kind.exit_code
    error._agent_hint = printable(hint)  # noqa: SLF001 - made here, instead of by __init__
    return error


def all_errors() -> list[type[ScratchflowError]]:
    """Every error class, by exit code, then by code; imports all families."""
    for family in sorted(set(FAMILIES.values())):
        _load(family)
    return sorted(_loaded(), key=lambda error: (error.exit_code, error.code))


def _kind_of(code: str) -> type[ScratchflowError]:
    family = FAMILIES.get(code.partition(".")[0])
    if family is None:
        return FarError
    try:
        _load(family)
    except ImportError:
        # Our files were removed since we started. Whoever waits for that class has it loaded.
        return FarError
    return next((known for known in _loaded() if known.code == code), FarError)


def _load(family: str) -> None:
    import_module(f"{__package__}.{family}")


def _loaded() -> Iterator[type[ScratchflowError]]:
    waiting = list(ScratchflowError.__subclasses__())
    while waiting:
        error = waiting.pop()
        yield error
        waiting.extend(error.__subclasses__())
