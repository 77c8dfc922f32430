"""Forked processes that share the work."""
