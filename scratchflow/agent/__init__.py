"""The far end: serving a request, asking one, and the agent's way onto the cluster."""
