"""What the login host does: holds a node, looks at everything, gives the node back."""
