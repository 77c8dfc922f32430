"""What differs: between disk and snapshot, and between two snapshots. Writes nothing."""
