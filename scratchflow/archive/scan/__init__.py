"""What is on disk now: the walk, its helpers, and what is known from the scan before."""
