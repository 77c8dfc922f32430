"""Jobs that run by themselves: `sbatch`, what became of them, and what accounting knows."""
