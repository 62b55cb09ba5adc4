"""The numbers of ImageNet that every framework shares: images, crops and colours."""

from training.records.shard_files import TRAIN, VALIDATION

#: The images of each split of ILSVRC 2012: https://image-net.org/challenges/LSVRC/2012/
TOTALS = {TRAIN: 1_281_167, VALIDATION: 50_000}

#: The smallest crop, as a part of the image's area, of NVIDIA's ResNet-50 v1.5, which reaches 77 % with it:
#: https://github.com/NVIDIA/DeepLearningExamples/tree/master/TensorFlow/Classification/ConvNets/resnet50v1.5
MIN_CROP_AREA = 0.08

#: Colours of ImageNet's training images, 0 to 255: the values (0.485, 0.456, 0.406 and 0.229, 0.224, 0.225) x 255.
MEAN = (123.68, 116.28, 103.53)
DEVIATION = (58.395, 57.12, 57.375)

#: The range of width to height, of the same source as MIN_CROP_AREA.
ASPECT = (3 / 4, 4 / 3)
#: The limit after which the whole image is used; utils/image_processing.py of the same source.
ATTEMPTS = 100

#: The window of an evaluation, as a part of the short side: 224 pixels of an image whose short side is 256.
CENTRE = 224 / 256
