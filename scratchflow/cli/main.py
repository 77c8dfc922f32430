"""The first lines that run. Nothing heavy is imported before it is known to be needed."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    if sys.argv[1:] == ["--version"]:  # asked for by scripts, again and again
        from scratchflow import __version__

        sys.stdout.write(f"scratchflow {__version__}\n")
        return
    from scratchflow.cli.app import run

    sys.exit(run(sys.argv[1:]))
