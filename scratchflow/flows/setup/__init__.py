"""A cluster becomes usable from this machine: reached, looked at, proposed, asked about, written."""
