"""The ssh configuration: what ssh would do, the alias, the one edit of the user's file."""
