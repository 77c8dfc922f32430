"""A submitted job, where it runs: its copy of the workspace, its command, and what is saved of it."""
