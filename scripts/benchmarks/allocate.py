"""`allocate` against `salloc --no-shell` and `ssh NODE true` by hand, on a real cluster in one run.

Needs root: it starts a minicluster of its own and removes it at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROUNDS = 5
LIMIT_S = 3.0
MINICLUSTER = Path(__file__).resolve().parents[1] / "minicluster"
SETUP = ["setup", "login", "--store", "/fsx/$USER/store", "--partition", "debug", "--yes"]


class Cluster:
    """A minicluster, and a laptop's home beside it."""

    def __init__(self, directory: Path) -> None:
        self.config = directory / "home/.ssh/config"
        self._state = directory / "state"
        self._home = directory / "home"

    @property
    def environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        return {**kept, "HOME": str(self._home), "MC_STATE": str(self._state)}

    def start(self) -> None:
        """Brings it up, and scratchflow onto it."""
        self.run(str(MINICLUSTER), "up")
        self.config.parent.mkdir(parents=True, mode=0o700)
        shutil.copy(self._state / "laptop/ssh_config", self.config)
        self.scratchflow(*SETUP)
        self.scratchflow("config", "set", "slurm.time", "10:00")

    def stop(self) -> None:
        """Leaves nothing behind."""
        self.run(str(MINICLUSTER), "down", "--purge")

    def run(self, *argv: str) -> str:
        """Runs a command on the laptop; what it said, on both ways."""
        done = subprocess.run(
            argv,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{argv} exited with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def ssh(self, host: str, *command: str) -> str:
        """Runs a command on one of its hosts, as a person would."""
        return self.run("ssh", "-F", str(self.config), host, *command)

    def scratchflow(self, *arguments: str) -> str:
        """Runs the program itself."""
        return self.run(sys.executable, "-m", "scratchflow", *arguments)


def by_hand(cluster: Cluster) -> None:
    """What a user types: take a node, then see that ssh gets there."""
    cluster.ssh("login", "salloc", "--no-shell", "--nodelist=node-1", "--time=10:00")
    cluster.ssh("node-1", "true")


def give_back(cluster: Cluster) -> None:
    """Ends whatever runs, and waits until the nodes are idle again."""
    cluster.run(str(MINICLUSTER), "exec", "login", "scancel", "--user=alice")
    states = [str(MINICLUSTER), "exec", "login", "sinfo", "--noheader", "--format=%T"]
    while set(re.findall(r"\w+", cluster.run(*states))) != {"idle"}:
        time.sleep(0.1)


def timed(work: Callable[[], object]) -> float:
    """Seconds that it took."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(cluster: Cluster) -> tuple[float, float]:
    """Best wall time of each, interleaved, so that a slow moment hits both alike."""
    hand, ours = float("inf"), float("inf")
    for _ in range(ROUNDS):
        hand = min(hand, timed(lambda: by_hand(cluster)))
        give_back(cluster)
        ours = min(ours, timed(lambda: cluster.scratchflow("allocate", "--node", "1")))
        cluster.scratchflow("clear", "--no-backup")
        give_back(cluster)
    return hand, ours


def main() -> int:
    """Prints the difference; exit 1 when it is over its limit."""
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it starts a Slurm cluster in namespaces")
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        cluster = Cluster(Path(directory))
        try:
            cluster.start()
            hand, ours = measure(cluster)
        finally:
            cluster.stop()
    print(f"salloc --no-shell, ssh NODE true   {hand:6.2f} s")
    print(f"scratchflow allocate               {ours:6.2f} s")
    print(f"difference                         {ours - hand:6.2f} s (limit {LIMIT_S:g} s)")
    return 1 if ours - hand > LIMIT_S else 0


if __name__ == "__main__":
    sys.exit(main())
