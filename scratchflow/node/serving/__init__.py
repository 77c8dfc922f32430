"""Servers on the node: a program that listens for this user alone, started, watched and ended."""
