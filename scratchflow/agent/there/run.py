"""Runs the scratchflow that lies beside this file in `lib`, and nothing of the host's."""

import importlib
import os
import sys
import time

_USED_AGAIN_AFTER_S = 86400


def _note_use(directory: str) -> None:
    """An agent that is in use must not be cleaned away: its directory's time says when it was."""
    try:
        if time.time() - os.stat(directory).st_mtime > _USED_AGAIN_AFTER_S:
            os.utime(directory)
    except OSError:  # a home that is full or read-only
        pass


def _restore_library_path() -> None:
    """What Python needed to start must not reach the programs that we start."""
    before = os.environ.pop("SCRATCHFLOW_RESTORE_LD_LIBRARY_PATH", None)
    if before:
        os.environ["LD_LIBRARY_PATH"] = before
    elif before is not None:
        os.environ.pop("LD_LIBRARY_PATH", None)


def main() -> None:
    """Hands over to the package."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(here, "lib"))
    sys.argv[0] = "scratchflow"
    _restore_library_path()
    _note_use(os.path.dirname(here))
    # By name: to the package this file is data, not a caller.
    importlib.import_module("scratchflow.cli.main").main()


if __name__ == "__main__":
    main()
