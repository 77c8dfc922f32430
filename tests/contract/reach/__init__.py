"""Reaching hosts over a real sshd."""
