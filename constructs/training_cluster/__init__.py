"""AWS CDK constructs for a GPU training cluster; each can be used alone in another app."""

from training_cluster.cluster import TrainingCluster
from training_cluster.config import ClusterConfig, load_config
from training_cluster.data import ImageRepository, TrainingBucket
from training_cluster.device_plugins import EfaDevicePlugin, NvidiaDevicePlugin
from training_cluster.efa_security_group import EfaSecurityGroup
from training_cluster.gpu_node_group import GpuNodeGroup, GpuNodeGroupSpec
from training_cluster.lustre_file_system import LustreFileSystem, LustreSpec, LustreVolume
from training_cluster.mpi_operator import MpiOperator
from training_cluster.network import TrainingNetwork

__all__ = [
    "ClusterConfig",
    "EfaDevicePlugin",
    "EfaSecurityGroup",
    "GpuNodeGroup",
    "GpuNodeGroupSpec",
    "ImageRepository",
    "LustreFileSystem",
    "LustreSpec",
    "LustreVolume",
    "MpiOperator",
    "NvidiaDevicePlugin",
    "TrainingBucket",
    "TrainingCluster",
    "TrainingNetwork",
    "load_config",
]
