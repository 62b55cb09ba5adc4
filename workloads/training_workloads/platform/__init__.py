"""What jobs need in a cluster, as cdk8s: the MPI operator, the device plugins and the shared volumes."""

from training_workloads.platform.efa_device_plugin import EfaDevicePluginChart
from training_workloads.platform.efs_volume import EfsVolumeChart
from training_workloads.platform.lustre_volume import LustreVolumeChart
from training_workloads.platform.mpi_operator import MPI_OPERATOR_NAMESPACE, MpiJobDefinitionChart, MpiOperatorChart
from training_workloads.platform.nvidia_device_plugin import NvidiaDevicePluginChart

__all__ = [
    "MPI_OPERATOR_NAMESPACE",
    "EfaDevicePluginChart",
    "EfsVolumeChart",
    "LustreVolumeChart",
    "MpiJobDefinitionChart",
    "MpiOperatorChart",
    "NvidiaDevicePluginChart",
]
