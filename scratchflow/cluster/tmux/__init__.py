"""tmux: our server, its sessions and windows."""
