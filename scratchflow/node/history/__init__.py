"""What snapshots there are, how two of them or the workspace differ, and whether they are whole."""
