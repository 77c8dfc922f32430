"""The real program as a person on one machine runs it: with a time zone, a clock and a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "scratchflow"]
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
_TRIES = 20


class Person:
    """A home of their own; `at` is what the clock shows, in UTC."""

    def __init__(self, home: Path, zone: str = BERLIN) -> None:
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm",
            "TZ": zone,
        }
        self.work = home / ".local/share/scratchflow/scratch/work"
        self.work.mkdir(parents=True)

    def run(self, *arguments: str, at: str = "") -> subprocess.CompletedProcess[str]:
        for _ in range(_TRIES):
            done = subprocess.run(
                [*self._clock(at), *PROGRAM, *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            # What a killed process of the same number left is in the way: faketime gives up
            # before it starts the program. The next process has another number.
            if not done.stderr.startswith("faketime: "):
                break
        return done

    def says(self, *arguments: str, at: str = "") -> str:
        done = self.run(*arguments, at=at)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def data(self, *arguments: str, at: str = "") -> dict[str, Any]:
        last = self.lines(*arguments, at=at)[-1]
        assert last["type"] == "summary", last
        found: dict[str, Any] = last["data"]
        return found

    def lines(self, *arguments: str, at: str = "") -> list[dict[str, Any]]:
        done = self.run(*arguments, "--json", at=at)
        assert done.stdout, (done.returncode, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def saves(self, content: str, *arguments: str, at: str = "") -> str:
        (self.work / "file").write_text(content)
        return str(self.data("backup", *arguments, at=at)["snapshot"])

    def _clock(self, at: str) -> list[str]:
        still = ["NO_FAKE_STAT=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
        return ["env", *still, "faketime", f"{at} UTC"] if at else []
