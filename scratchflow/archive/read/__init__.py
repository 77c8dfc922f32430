"""Reads archives: indexes, frames, files; verifies them."""
