"""Writes a new archive."""
