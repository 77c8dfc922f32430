"""Two readers of one event stream: people and programs."""
