"""Which machine does what a verb asks for: this one, the login host, or the node."""
