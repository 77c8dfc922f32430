"""`status --watch` of several windows or terminals: one of them asks the cluster, and the others read its answers."""
