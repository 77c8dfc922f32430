"""The lock on one workspace in the store: who holds it, and when a holder counts as dead."""
