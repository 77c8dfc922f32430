"""`restore` onto the three nodes of an allocation against `restore` onto one, on a real cluster in one run.

All nodes of the minicluster share this machine's cores and disk, so what three nodes of a real cluster do beside each
other is here done by one. The workspace is therefore small: what is measured is that the nodes do not wait for each other.

Needs root: it starts a minicluster of its own and removes it at the end.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from allocate import MINICLUSTER, Cluster, give_back, timed

ROUNDS = 3
LIMIT = 1.5
FILES, FILE_BYTES = 300, 20_000
WORK = "/scratch/alice/work"
NODES = ("node-1", "node-2", "node-3")
MAKE = f"cd {WORK} && for n in $(seq {FILES}); do head -c {FILE_BYTES} /dev/urandom > f$n; done"


def on(cluster: Cluster, host: str, script: str) -> None:
    """Runs it there as root, without ssh."""
    cluster.run(str(MINICLUSTER), "exec", host, "sh", "-c", script)


def forget(cluster: Cluster) -> None:
    """Every node as if it had never had the workspace."""
    for node in NODES:
        on(cluster, node, f"rm -rf {WORK} /scratch/alice/.scratchflow")
    on(cluster, "login", "rm -f /fsx/alice/store/*/nodes/*.json")


def restored(cluster: Cluster, nodes: int) -> float:
    """Seconds of a `restore` onto so many nodes that have nothing."""
    cluster.scratchflow("allocate", "--set", f"slurm.nodes={nodes}")
    forget(cluster)
    took_s = timed(lambda: cluster.scratchflow("restore"))
    cluster.scratchflow("clear", "--no-backup")
    give_back(cluster)
    return took_s


def measure(cluster: Cluster) -> tuple[float, float]:
    """Best wall time of each, interleaved, so that a slow moment hits both alike."""
    one, three = float("inf"), float("inf")
    for _ in range(ROUNDS):
        one = min(one, restored(cluster, 1))
        three = min(three, restored(cluster, 3))
    return one, three


def main() -> int:
    """Prints the ratio; exit 1 when it is over its limit."""
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it starts a Slurm cluster in namespaces")
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        cluster = Cluster(Path(directory))
        try:
            cluster.start()
            cluster.scratchflow("up")
            on(cluster, "node-1", f"{MAKE} && chown -R alice {WORK}")
            cluster.scratchflow("clear")
            one, three = measure(cluster)
        finally:
            cluster.stop()
    print(f"restore onto one node       {one:6.2f} s")
    print(f"restore onto three nodes    {three:6.2f} s")
    print(f"ratio                       {three / one:6.2f} (limit {LIMIT:g})")
    return 1 if three / one > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
