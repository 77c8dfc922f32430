"""Snapshots leave and come: archives that other programs read, and files sent to the laptop."""
