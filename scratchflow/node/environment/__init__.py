"""The profile's `[environment]` as the variables of a process on the node."""
