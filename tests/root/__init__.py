"""Tests that need root: mounts, and files of other users."""
