"""What jobs need in a cluster, as cdk8s: the MPI operator and the shared volumes."""

from training_workloads.platform.efs_volume import EfsVolumeChart
from training_workloads.platform.lustre_volume import LustreVolumeChart
from training_workloads.platform.mpi_operator import MPI_OPERATOR_NAMESPACE, MpiJobDefinitionChart, MpiOperatorChart

__all__ = [
    "MPI_OPERATOR_NAMESPACE",
    "EfsVolumeChart",
    "LustreVolumeChart",
    "MpiJobDefinitionChart",
    "MpiOperatorChart",
]
