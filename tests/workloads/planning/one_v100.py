"""The type with one V100: retired, and the only one with a published rate that has too little memory for the images."""

from training_workloads import INSTANCE_TYPES

__all__ = ["ONE_V100"]

ONE_V100 = next(one.name for one in INSTANCE_TYPES.values() if one.gpus == 1 and one.gpu and one.gpu.model == "V100")
