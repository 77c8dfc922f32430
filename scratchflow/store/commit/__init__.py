"""A new snapshot in the store: written, read back, committed by renaming its manifest."""
