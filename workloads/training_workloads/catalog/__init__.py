"""The facts that everything else derives from, each stated once: instance types, node devices, component versions."""

from training_workloads.catalog.gpus import Clocks, Gpu
from training_workloads.catalog.instance_type import BusBandwidth, InstanceType, NetworkInterface, Retirement
from training_workloads.catalog.instances import INSTANCE_TYPES, gpu_instance_type, supported_gpu_type
from training_workloads.catalog.prices import Price

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
