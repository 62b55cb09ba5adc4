from .catalog import INSTANCE_TYPES, InstanceType, gpu_instance_type
from .jobs.constructs import ElasticHorovodJob, NcclTestJob, StageDataJob, TensorBoard, TorchElasticJob
from .jobs.elastic_horovod_job import ElasticHorovodJobSpec
from .jobs.horovod_job import HorovodJobSpec
from .jobs.mpi_constructs import HorovodJob, JobNetworkPolicy, MpiJob
from .jobs.nccl_test_job import NcclTestJobSpec
from .jobs.scheduling import Scheduling
from .jobs.stage_data_job import StageDataJobSpec
from .jobs.tensorboard import TensorBoardSpec
from .jobs.torch_elastic_job import TorchElasticJobSpec
from .jobs.volumes import SharedVolume
from .mpijob.mpi_job import MpiJobSpec, ReplicaSpec, RunPolicy, SchedulingPolicy
from .planning.storage_sizing import LustreSizing, size_lustre
from .platform.device_plugins import EfaDevicePluginChart, NvidiaDevicePluginChart
from .platform.lustre_folders import LustreFoldersChart
from .platform.mpi_operator import MpiJobDefinitionChart, MpiOperatorChart
from .platform.volumes import EfsVolumeChart, LustreVolumeChart
from .validation import InputError, Problem

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
    "LustreFoldersChart",
    "LustreSizing",
    "LustreVolumeChart",
    "MpiJob",
    "MpiJobDefinitionChart",
    "MpiJobSpec",
    "MpiOperatorChart",
    "NcclTestJob",
    "NcclTestJobSpec",
    "NvidiaDevicePluginChart",
    "Problem",
    "ReplicaSpec",
    "RunPolicy",
    "Scheduling",
    "SchedulingPolicy",
    "SharedVolume",
    "StageDataJob",
    "StageDataJobSpec",
    "TensorBoard",
    "TensorBoardSpec",
    "TorchElasticJob",
    "TorchElasticJobSpec",
    "gpu_instance_type",
    "size_lustre",
]
