"""Tests against a real Slurm cluster, which scripts/minicluster runs on this machine."""
