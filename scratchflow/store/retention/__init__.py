"""Which snapshots stay, which go, and how they are removed."""
