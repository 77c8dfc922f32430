"""The shape of a tree in memory: names, entries, and the index of an archive."""
