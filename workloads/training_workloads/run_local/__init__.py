"""Runs a job on this machine."""
