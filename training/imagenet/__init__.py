"""ImageNet: how it lies on the disk, and how it gets there and back."""
