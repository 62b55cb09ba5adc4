"""Numbered records: the files that hold them, the order of an epoch, and the stages that read them."""
