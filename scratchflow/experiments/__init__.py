"""Experiments: from parameters as people write them to one command for each task. Nothing here runs a job."""
