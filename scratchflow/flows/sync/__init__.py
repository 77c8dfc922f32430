"""`sync`, as steps: the star around the first profile, one pair of homes, and the question about deletions."""
