"""Host keys and key files."""
