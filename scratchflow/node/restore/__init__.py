"""Brings the workspace, or a part of it, back from a snapshot."""
