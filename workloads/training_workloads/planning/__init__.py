"""Calculations for a cluster or a job before it runs: speed, price, storage."""
