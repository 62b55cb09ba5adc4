"""ImageNet: its conversion to shards, and the batches of a rank."""
