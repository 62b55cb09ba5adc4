"""What jobs need in a cluster, as cdk8s charts: the MPI operator and the shared volume."""

from training_workloads.platform.lustre_volume import LustreVolumeChart
from training_workloads.platform.mpi_operator import MPI_OPERATOR_NAMESPACE, MpiJobDefinitionChart, MpiOperatorChart

__all__ = ["MPI_OPERATOR_NAMESPACE", "LustreVolumeChart", "MpiJobDefinitionChart", "MpiOperatorChart"]
