"""Files and snapshots on their way between this machine, a cluster, and another cluster."""
