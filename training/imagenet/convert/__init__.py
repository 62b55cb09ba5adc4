"""From ImageNet's archives, or the folders that they were extracted to, to shards."""
