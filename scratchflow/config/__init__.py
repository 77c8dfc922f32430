"""The configuration file: read, checked, layered, edited."""
