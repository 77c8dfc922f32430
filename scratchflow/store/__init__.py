"""Snapshots on shared storage: catalogue, commit, lock, retention, warm nodes. Not their bytes."""
