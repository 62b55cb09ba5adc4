"""Numbered records: their files, the order of an epoch, and the stages that read them."""
