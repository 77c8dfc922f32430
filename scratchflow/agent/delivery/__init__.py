"""Puts the agent onto a cluster: what it needs, for which Python, in one archive."""
