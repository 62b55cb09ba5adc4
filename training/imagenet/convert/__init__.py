"""The program `python -m training.imagenet.convert`: from ImageNet's archives or folders to shards."""
