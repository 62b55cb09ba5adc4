"""Bucket, image repository, Lustre and EFS, and their volumes."""
