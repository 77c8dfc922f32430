"""Programs that this machine runs to their end, or ends with all they started, and waiting with a deadline."""
