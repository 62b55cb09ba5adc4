"""ResNet-50 v1.5 on ImageNet, from TFRecords to 77 % top-1: `python -m training.resnet50`."""
