"""The facts that everything else derives from: instance types and component versions, each stated once."""

from training_workloads.catalog.gpus import Clocks, Gpu
from training_workloads.catalog.instance_type import BusBandwidth, InstanceType, Price
from training_workloads.catalog.instances import INSTANCE_TYPES, gpu_instance_type
from training_workloads.catalog.layouts import NetworkInterface

__all__ = [
    "INSTANCE_TYPES",
    "BusBandwidth",
    "Clocks",
    "Gpu",
    "InstanceType",
    "NetworkInterface",
    "Price",
    "gpu_instance_type",
]
