"""What is known about the store itself: its file system, and which snapshots were read back."""
