"""Writes files of an archive back to disk, and displaces what is there safely."""
