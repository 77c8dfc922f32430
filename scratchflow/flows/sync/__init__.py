"""`sync`, as steps: the star around the first profile, one pair of homes, the question about deletions, what the last one left."""
