"""One new snapshot of the workspace: whether it may be taken, what it stores, what it says of itself."""
