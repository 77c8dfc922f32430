"""How one machine gets to the next: laptop to login host, login host to node."""
