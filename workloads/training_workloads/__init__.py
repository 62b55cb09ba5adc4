"""Training jobs for Kubernetes: the instance catalog, typed MPIJobs, and what they need in a cluster, with cdk8s."""

from training_workloads.catalog import INSTANCE_TYPES, InstanceType, gpu_instance_type
from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJob, ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJob, HorovodJobSpec
from training_workloads.jobs.isolated_mpi_job import JobNetworkPolicy, MpiJob
from training_workloads.jobs.nccl_test_job import NcclTestJob, NcclTestJobSpec
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.stage_data_job import StageDataJob, StageDataJobSpec
from training_workloads.jobs.tensorboard import TensorBoard, TensorBoardSpec
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.mpijob.spec import MpiJobSpec, ReplicaSpec, RunPolicy, SchedulingPolicy
from training_workloads.planning.storage_sizing import LustreSizing, size_lustre
from training_workloads.platform import (
    EfaDevicePluginChart,
    EfsVolumeChart,
    LustreVolumeChart,
    MpiJobDefinitionChart,
    MpiOperatorChart,
    NvidiaDevicePluginChart,
)
from training_workloads.validation import InputError

__all__ = [
    "INSTANCE_TYPES",
    "EfaDevicePluginChart",
    "EfsVolumeChart",
    "ElasticHorovodJob",
    "ElasticHorovodJobSpec",
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
    "NcclTestJob",
    "NcclTestJobSpec",
    "NvidiaDevicePluginChart",
    "ReplicaSpec",
    "RunPolicy",
    "Scheduling",
    "SchedulingPolicy",
    "SharedVolume",
    "StageDataJob",
    "StageDataJobSpec",
    "TensorBoard",
    "TensorBoardSpec",
    "gpu_instance_type",
    "size_lustre",
]
