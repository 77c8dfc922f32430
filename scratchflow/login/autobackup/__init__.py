"""The auto-backup, on the login host: the loop on each node started, ended, looked at."""
