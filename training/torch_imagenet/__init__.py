"""ResNet-50 and EfficientNet-B7 on ImageNet with PyTorch: `torchrun -m training.torch_imagenet`."""
