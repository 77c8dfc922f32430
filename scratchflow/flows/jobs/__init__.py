"""Submitted jobs as the user types them: submit, list, rerun, read, cancel."""
