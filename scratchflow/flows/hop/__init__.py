"""`hop`, as steps: onto another node, and with `--to` onto another cluster."""
