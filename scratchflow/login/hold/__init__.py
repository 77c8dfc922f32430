"""Holds a node: finds our job or requests one, and waits for it."""
