"""What lies inside snapshots: one path, its content, its versions."""
