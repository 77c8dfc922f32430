"""What people wait for: everyday commands typed on the laptop, against `ssh login true`, on a real cluster in one run.

Each is measured twice. On a fresh connection: nothing is open, and the command logs in by itself, as `ssh` does. On a
shared one: a connection that an earlier command left behind is ridden, by `ssh` and by us.

Needs root: it starts a minicluster of its own and removes it at the end.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from allocate import MINICLUSTER, Cluster

ROUNDS = 10
BASE = "ssh login true"
LIMITS = {"status": 2.5, "up": 3.0}
PROGRAM = str(Path(sys.executable).with_name("scratchflow"))
WORK = "/scratch/alice/work"
FILE = "changed.txt"
WAYS = ("fresh", "shared")


class Laptop(Cluster):
    """A minicluster, with shared connections in a directory of this benchmark's own."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._runtime = directory / "run"
        self._runtime.mkdir(mode=0o700)
        self.own_socket = directory / "by-hand"
        self.node = ""

    @property
    def environment(self) -> Mapping[str, str]:
        return {**super().environment, "XDG_RUNTIME_DIR": str(self._runtime)}

    def take_node(self) -> None:
        """Takes a node for hours: with less than one left, `status` warns of that, too."""
        self.scratchflow("config", "set", "slurm.partition", "gpu")
        self.scratchflow("config", "set", "slurm.time", "3:50:00")
        self.scratchflow("up")
        queue = [str(MINICLUSTER), "exec", "login", "squeue", "--noheader", "--format=%N"]
        self.node = self.run(*queue).split()[0]

    def hang_up(self) -> None:
        """Ends every connection that scratchflow left behind."""
        for socket in self._runtime.glob("scratchflow/*"):
            self.run("ssh", "-O", "exit", "-o", f"ControlPath={socket}", "login")

    def leave_connection(self) -> None:
        """Has scratchflow leave a shared connection behind, if none is there."""
        if not any(self._runtime.glob("scratchflow/*")):
            self.scratchflow("run", "--", "true")

    def on_node(self, script: str) -> None:
        """Runs it there as the user, without ssh."""
        self.run(str(MINICLUSTER), "exec", "-u", "alice", self.node, "sh", "-c", script)


def commands(laptop: Laptop, way: str) -> dict[str, list[str]]:
    """What is typed, by the name in the table."""
    ssh = ["ssh", "-F", str(laptop.config)]
    share = ["-o", f"ControlPath={laptop.own_socket if way == 'shared' else 'none'}"]
    return {
        BASE: [*ssh, *share, "login", "true"],
        "status": [PROGRAM, "status"],
        "up": [PROGRAM, "up"],
        "backup": [PROGRAM, "backup"],
        "restore": [PROGRAM, "restore", "--path", FILE],
    }


def preparations(laptop: Laptop) -> dict[str, Callable[[], None]]:
    """What makes a command have something to do."""

    def change() -> None:
        laptop.on_node(f"date +%s%N > {WORK}/{FILE}")

    return {"backup": change, "restore": change}


class Best:
    """The least wall time and the least processor time here, of all rounds."""

    def __init__(self) -> None:
        self.wall_s = self.processor_s = float("inf")

    def time(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Runs it once more."""
        used_s, started_s = _used_by_children_s(), time.perf_counter()
        subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        self.wall_s = min(self.wall_s, time.perf_counter() - started_s)
        self.processor_s = min(self.processor_s, _used_by_children_s() - used_s)


def _used_by_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(laptop: Laptop, rounds: int) -> dict[str, dict[str, Best]]:
    """Best of each, interleaved, so that a slow moment hits all alike."""
    best = {way: {name: Best() for name in commands(laptop, way)} for way in WAYS}
    before = preparations(laptop)
    for _ in range(rounds):
        for way in WAYS:
            for name, command in commands(laptop, way).items():
                before.get(name, lambda: None)()
                if way == "fresh":
                    laptop.hang_up()
                else:
                    laptop.leave_connection()
                best[way][name].time(command, laptop.environment)
    return best


def main() -> int:
    """Prints the table; exit 1 when a ratio is over its limit."""
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it starts a Slurm cluster in namespaces")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="feel-") as directory:
        laptop = Laptop(Path(directory))
        try:
            laptop.start()
            laptop.take_node()
            keep = ["-o", "ControlMaster=yes", "-o", "ControlPersist=600"]
            share = [*keep, "-o", f"ControlPath={laptop.own_socket}"]
            laptop.run("ssh", "-F", str(laptop.config), *share, "login", "true")
            best = measure(laptop, rounds)
        finally:
            laptop.hang_up()
            laptop.stop()
    return show(best)


def show(best: Mapping[str, Mapping[str, Best]]) -> int:
    """The table: of each way milliseconds, the ratio to `ssh` in the same way, and processor time on the laptop."""
    head = "".join(f" | {way + ' ms':>9} {'ratio':>6} {'cpu ms':>7}" for way in WAYS)
    print(f"{'typed on the laptop':<20}{head} | {'limit':>6}")
    over = False
    for name in best["fresh"]:
        columns = ""
        for way in WAYS:
            one, base = best[way][name], best[way][BASE]
            ratio = one.wall_s / base.wall_s
            columns += f" | {one.wall_s * 1000:9.1f} {ratio:6.2f} {one.processor_s * 1000:7.1f}"
        limit = LIMITS.get(name)
        ratio = best["fresh"][name].wall_s / best["fresh"][BASE].wall_s
        over |= limit is not None and ratio > limit
        print(f"{name:<20}{columns} | {f'{limit:6.1f}' if limit else '     -'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
