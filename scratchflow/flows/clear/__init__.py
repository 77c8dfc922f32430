"""`clear`: the last backup of a job's nodes, and everything is let go again."""
