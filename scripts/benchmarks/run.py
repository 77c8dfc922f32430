"""`run -- true` over a warm connection against `ssh compile_machine true` by hand, on a real cluster in one run.

By hand there are two ways. Somebody who keeps a connection to the node open rides that: this is what the limit is about.
The alias itself shares no connection to the node, because nodes change beneath it: without further options its `ssh`
rides a shared connection to the login host, and logs in to the node anew.

Needs root: it starts a minicluster of its own and removes it at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from allocate import Cluster

ROUNDS = 25
LIMIT = 1.6
OURS = "scratchflow run -- true"
BY_HAND = "ssh compile_machine true, shared"
ALIAS = "ssh compile_machine true, as is"
ON_LOGIN = "ssh login true, shared"
PROGRAM = str(Path(sys.executable).with_name("scratchflow"))


def commands(cluster: Cluster, directory: Path) -> dict[str, list[str]]:
    """Each over a shared connection that is open already."""
    ssh = ["ssh", "-F", str(cluster.config)]
    node, login = directory / "node", directory / "login"
    keep = ["-o", "ControlMaster=auto", "-o", "ControlPersist=600"]
    cluster.run(*ssh, *keep, "-o", f"ControlPath={login}", "login", "true")
    cluster.run(*ssh, *keep, "-o", f"ControlPath={node}", "compile_machine", "true")
    jump = f"ProxyCommand=ssh -F {cluster.config} -o ControlPath={login} -W %h:%p login"
    return {
        BY_HAND: [*ssh, "-o", f"ControlPath={node}", "compile_machine", "true"],
        ALIAS: [*ssh, "-o", jump, "compile_machine", "true"],
        ON_LOGIN: [*ssh, "-o", f"ControlPath={login}", "login", "true"],
        OURS: [PROGRAM, "run", "--", "true"],
    }


def measure(
    candidates: Mapping[str, list[str]], environment: Mapping[str, str]
) -> dict[str, float]:
    """Best wall time of each, interleaved, so that a slow moment hits all alike."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(ROUNDS):
        for name, command in candidates.items():
            started = time.perf_counter()
            subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def main() -> int:
    """Prints the table; exit 1 when the ratio is over its limit."""
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it starts a Slurm cluster in namespaces")
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        cluster = Cluster(Path(directory))
        try:
            cluster.start()
            cluster.scratchflow("up", "--node", "1")
            cluster.scratchflow("run", "--", "true")
            best = measure(commands(cluster, Path(directory)), cluster.environment)
        finally:
            cluster.stop()
    print(f"{'command':<34} {'best ms':>8} {'ratio':>6} {'limit':>6}")
    for name, seconds in best.items():
        ratio = best[OURS] / seconds
        limit = f"{LIMIT:6.1f}" if name == BY_HAND else "     -"
        print(f"{name:<34} {seconds * 1000:8.1f} {ratio:6.2f} {limit}")
    return 1 if best[OURS] / best[BY_HAND] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
