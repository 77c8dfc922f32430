"""The only place that knows a Slurm or tmux word."""
