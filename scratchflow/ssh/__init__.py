"""ssh: the alias and its file, `ssh -G`, host keys, and the transports that run commands elsewhere."""
