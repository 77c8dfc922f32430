"""scratchflow: fast node-local scratch for Slurm users, without losing a byte."""

__version__ = "0.1.0"
