"""What happens where the workspace is: backup, restore, history."""
