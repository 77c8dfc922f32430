"""Two unisons that talk to each other through this machine: what runs beside each, and the relay between."""
