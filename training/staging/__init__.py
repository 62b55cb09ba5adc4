"""The parts of `python -m training.stage_data`: what is in S3, what is here, and whether they are the same."""
