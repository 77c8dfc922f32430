"""`serve` and `tunnel`, as steps; the local ports of this machine that lead to a node."""
