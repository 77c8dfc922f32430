"""Programs started on this machine: run to their end within a time limit, ended with all they started."""
