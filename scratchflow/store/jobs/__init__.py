"""Records of submitted jobs: `jobs/<job>/` in the store, and which snapshots they need."""
