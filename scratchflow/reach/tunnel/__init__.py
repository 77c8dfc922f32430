"""Many connections through one pair of pipes: both ends of a tunnel, and what travels between them."""
