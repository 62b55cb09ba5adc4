"""What can be computed of a cluster or a job before it runs."""
