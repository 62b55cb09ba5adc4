"""What jobs need in a cluster, as cdk8s: the MPI operator, the shared volumes, and who may reach a job's pods."""

from training_workloads.platform.efs_volume import EfsVolumeChart
from training_workloads.platform.lustre_volume import LustreVolumeChart
from training_workloads.platform.mpi_operator import MPI_OPERATOR_NAMESPACE, MpiJobDefinitionChart, MpiOperatorChart
from training_workloads.platform.network_policy import JobNetworkPolicy

__all__ = [
    "MPI_OPERATOR_NAMESPACE",
    "EfsVolumeChart",
    "JobNetworkPolicy",
    "LustreVolumeChart",
    "MpiJobDefinitionChart",
    "MpiOperatorChart",
]
