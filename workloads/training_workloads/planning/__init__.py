"""What can be calculated for a cluster or a job before it runs."""
