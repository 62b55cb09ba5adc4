"""The splits of ImageNet and the number of their images."""

from training.records.shard_files import TRAIN, VALIDATION

#: ILSVRC 2012: https://image-net.org/challenges/LSVRC/2012/
TOTALS = {TRAIN: 1_281_167, VALIDATION: 50_000}
