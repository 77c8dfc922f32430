"""Servers on the node, from the login host: started, listed, stopped."""
