"""Everything that knows an option or a word of rclone."""
