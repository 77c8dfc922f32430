"""Submitted jobs, on the login host: submitted, looked at, read, cancelled."""
