"""Staging of a data set from S3: what is in S3, what is here, and whether they are the same."""
