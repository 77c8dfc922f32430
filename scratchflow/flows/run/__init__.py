"""`run` and `shell`, as steps: what is started, what has our terminal, what is left alone, how it ended."""
