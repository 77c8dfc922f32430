"""Runs commands elsewhere: over paramiko, the system's ssh, or on this machine."""
