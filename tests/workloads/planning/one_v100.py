"""The plan's only type with one GPU of V100; AWS has retired it, and nothing else is too small for ImageNet's images."""

from training_workloads import INSTANCE_TYPES

__all__ = ["ONE_V100"]

ONE_V100 = next(one.name for one in INSTANCE_TYPES.values() if one.gpus == 1 and one.gpu and one.gpu.model == "V100")
