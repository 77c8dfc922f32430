"""One scratchflow asks another: requests, answers, and installing the agent on a cluster."""
