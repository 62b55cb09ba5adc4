"""Training jobs for Kubernetes: the instance catalog, typed MPIJobs, and what they need in a cluster, with cdk8s."""

from training_workloads.catalog import INSTANCE_TYPES, InstanceType, gpu_instance_type
from training_workloads.errors import InputError
from training_workloads.horovod_job import HorovodJob, HorovodJobSpec
from training_workloads.mpi_job import MpiJob, MpiJobSpec, ReplicaSpec, RunPolicy, SchedulingPolicy
from training_workloads.platform import (
    EfsVolumeChart,
    JobNetworkPolicy,
    LustreVolumeChart,
    MpiJobDefinitionChart,
    MpiOperatorChart,
)
from training_workloads.storage_sizing import LustreSizing, size_lustre
from training_workloads.volumes import SharedVolume

__all__ = [
    "INSTANCE_TYPES",
    "EfsVolumeChart",
    "HorovodJob",
    "HorovodJobSpec",
    "InputError",
    "InstanceType",
    "JobNetworkPolicy",
    "LustreSizing",
    "LustreVolumeChart",
    "MpiJob",
    "MpiJobDefinitionChart",
    "MpiJobSpec",
    "MpiOperatorChart",
    "ReplicaSpec",
    "RunPolicy",
    "SchedulingPolicy",
    "SharedVolume",
    "gpu_instance_type",
    "size_lustre",
]
