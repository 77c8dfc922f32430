"""Slurm: the only place that knows its commands and its words."""
