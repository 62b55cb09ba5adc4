"""The program `python -m training.staging`: from S3 to a shared file system, with every file verified."""
