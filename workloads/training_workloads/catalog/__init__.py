"""The facts that everything else derives from: instance types and component versions, each stated once."""

from training_workloads.catalog.instances import INSTANCE_TYPES, Gpu, InstanceType, NetworkInterface, gpu_instance_type

__all__ = ["INSTANCE_TYPES", "Gpu", "InstanceType", "NetworkInterface", "gpu_instance_type"]
