"""What `status` shows: the node, the workspace, the snapshots, and what is wrong with each."""
