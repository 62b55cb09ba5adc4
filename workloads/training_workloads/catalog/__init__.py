"""The facts that everything else derives from, each stated once: instance types, node devices, component versions."""

from training_workloads.catalog.gpus import Clocks, Gpu
from training_workloads.catalog.instance_type import BusBandwidth, InstanceType, NetworkInterface, Price, Retirement
from training_workloads.catalog.instances import INSTANCE_TYPES, gpu_instance_type, supported_gpu_type

__all__ = [
    "INSTANCE_TYPES",
    "BusBandwidth",
    "Clocks",
    "Gpu",
    "InstanceType",
    "NetworkInterface",
    "Price",
    "Retirement",
    "gpu_instance_type",
    "supported_gpu_type",
]
