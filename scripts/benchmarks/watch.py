"""What idle windows cost the login host: the programs that it starts for three `status --watch` of one user, in an hour.

They are counted where they start: `strace` follows sshd and everything that comes from it. A node is held with hours left
and nothing changes. Starting the watches is not counted, and one stretch of minutes stands for the hour.

Needs root: it starts a minicluster of its own and removes it at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from allocate import MINICLUSTER
from feel import Laptop

LIMIT = 120
# What the extension starts, once in each window.
WATCH = [sys.executable, "-m", "scratchflow", "status", "--watch", "--json"]
SETTLE_S = 30.0
STARTED = re.compile(rb'execve\("([^"]*)".*\) = 0$')


@contextmanager
def counted(laptop: Laptop, log: Path) -> Iterator[None]:
    """While inside, every program that sshd on the login host starts, and what they start, gets a line in `log`."""
    follow = "echo $$; exec strace -f -qq -e trace=execve -e signal=none -p $(pgrep -o -x sshd)"
    argv = [str(MINICLUSTER), "exec", "login", "sh", "-c", follow]
    with (
        log.open("wb") as file,
        subprocess.Popen(
            argv,
            env=laptop.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
        ) as strace,
    ):
        assert strace.stdout is not None
        pid = strace.stdout.readline().decode().strip()
        try:
            yield
        finally:
            laptop.run(str(MINICLUSTER), "exec", "login", "kill", pid)


@contextmanager
def window(laptop: Laptop, output: Path) -> Iterator[None]:
    """One watch, as a window of the editor holds it."""
    with (
        output.open("wb") as file,
        subprocess.Popen(
            WATCH, env=laptop.environment, stdin=subprocess.DEVNULL, stdout=file
        ) as watch,
    ):
        try:
            yield
        finally:
            watch.terminate()


def started(log: Path) -> list[str]:
    """The programs so far, in order."""
    lines = log.read_bytes().splitlines()
    found = (STARTED.search(line) for line in lines)
    return [os.path.basename(match[1]).decode() for match in found if match]


def measure(laptop: Laptop, directory: Path, windows: int, minutes: float) -> Counter[str]:
    """What was started in the stretch, by name."""
    log = directory / "started"
    with ExitStack() as open_until:
        open_until.enter_context(counted(laptop, log))
        outputs = [directory / f"window-{number}" for number in range(windows)]
        for output in outputs:
            open_until.enter_context(window(laptop, output))
        time.sleep(SETTLE_S)
        for output in outputs:
            if b'"type":"status"' not in output.read_bytes():
                sys.exit(f"no status within {SETTLE_S:g} s: {output.read_text()}")
        before = started(log)
        if not before:
            sys.exit(f"strace sees nothing: {log.read_text()}")
        time.sleep(minutes * 60)
        return Counter(started(log)[len(before) :])


def main() -> int:
    """Prints the count; exit 1 when it is over the limit."""
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it starts a Slurm cluster in namespaces")
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=6)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="watch-") as directory:
        laptop = Laptop(Path(directory))
        try:
            laptop.start()
            laptop.take_node()
            found = measure(laptop, Path(directory), asked.windows, asked.minutes)
        finally:
            laptop.hang_up()
            laptop.stop()
    hour = round(found.total() * 60 / asked.minutes)
    names = ", ".join(f"{name} {count}" for name, count in found.most_common())
    print(f"{asked.windows} windows, {asked.minutes:g} min: {found.total()} programs ({names})")
    print(f"in an hour: {hour}, limit {LIMIT}")
    return 1 if hour > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
