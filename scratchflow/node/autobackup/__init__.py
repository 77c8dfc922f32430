"""The loop on the node that takes a snapshot every so often."""
