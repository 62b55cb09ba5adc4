"""Run a job on this machine."""
