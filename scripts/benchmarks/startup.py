"""Start-up time of light commands, as a multiple of `python -c pass` measured in the same run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 25
PROGRAM = str(Path(sys.executable).with_name("scratchflow"))
BASE = "python -c pass"
COMMANDS = {
    BASE: [sys.executable, "-c", "pass"],
    "scratchflow --version": [PROGRAM, "--version"],
    "scratchflow --version --json": [PROGRAM, "--version", "--json"],
    "scratchflow --help": [PROGRAM, "--help"],
    "scratchflow config path": [PROGRAM, "config", "path"],
}
LIMITS = {
    "scratchflow --version": 8.0,
    "scratchflow --version --json": 8.0,
    "scratchflow --help": 16.0,
}


def measure() -> dict[str, float]:
    """Best wall time of each, interleaved, so that a slow moment hits all alike."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def main() -> int:
    """Prints the table; exit 1 when a ratio is over its limit."""
    best = measure()
    print(f"{'command':<30} {'best ms':>8} {'ratio':>6} {'limit':>6}")
    over = False
    for name, seconds in best.items():
        ratio, limit = seconds / best[BASE], LIMITS.get(name)
        over |= limit is not None and ratio > limit
        shown = f"{limit:6.1f}" if limit else "     -"
        print(f"{name:<30} {seconds * 1000:8.1f} {ratio:6.2f} {shown}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
