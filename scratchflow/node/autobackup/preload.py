"""Everything that a long-running process may need later, loaded at its start.

An agent's directory can be removed while the auto-backup that was started from it runs: by
`setup --remove` on another laptop, by a newer installation, by hand. What was imported stays.
"""

from __future__ import annotations

import importlib
import pkgutil
from contextlib import suppress

import scratchflow
from scratchflow.store.rescue_files import our_files

# These have no part in a backup: the first parse and show, the others reach other machines.
_LEFT_OUT = ("cli", "report", "ssh", "testing", "agent.there")
# Libraries that are imported inside functions, and by parts that `_LEFT_OUT` does not name.
_LIBRARIES = (
    "pathspec",
    "pyfastcdc",
    "platformdirs",
    "difflib",
    "base64",
    "socket",
    "encodings.idna",
)
_STILL_WANTED = ("scratchflow.report.crash",)


def load_everything() -> None:
    """Imports every module of ours that works on this machine, and their libraries."""
    for name in [*_LIBRARIES, *_STILL_WANTED, *_our_modules()]:
        with suppress(ImportError):  # a library that this machine was not given
            importlib.import_module(name)
    our_files()


def _our_modules() -> list[str]:
    prefix = f"{scratchflow.__name__}."
    left_out = tuple(f"{prefix}{name}" for name in _LEFT_OUT)
    found = []
    for module in pkgutil.walk_packages(scratchflow.__path__, prefix, onerror=lambda _: None):
        is_left_out = any(
            module.name == one or module.name.startswith(f"{one}.") for one in left_out
        )
        if not is_left_out and not module.name.endswith("__main__"):
            found.append(module.name)
    return found
