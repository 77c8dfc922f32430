"""The mirror: an off-site copy of the store, sent to and read back from by rclone."""
