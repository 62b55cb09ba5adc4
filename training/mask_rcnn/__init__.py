"""Mask R-CNN with ResNet-50 and a feature pyramid, for boxes, classes and masks of objects."""
