"""AWS CDK constructs for a GPU training cluster; each can be used alone in another app."""

from training_cluster.budget import TrainingBudget
from training_cluster.cluster import TrainingCluster
from training_cluster.cluster_autoscaler import ClusterAutoscaler
from training_cluster.config import ClusterConfig, ServiceAccountSpec, load_config
from training_cluster.cost import CostEstimate, hourly_cost
from training_cluster.data import ImageRepository, TrainingBucket
from training_cluster.device_plugins import EfaDevicePlugin, NvidiaDevicePlugin
from training_cluster.efa_security_group import EfaSecurityGroup
from training_cluster.elastic_file_system import ElasticFileSystem, ElasticVolume, ExistingElasticFileSystem
from training_cluster.encryption_key import TrainingKey
from training_cluster.existing_cluster import ExistingCluster
from training_cluster.gpu_node_group import GpuNodeGroup
from training_cluster.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.job_identity import JobIdentity
from training_cluster.lustre_file_system import LustreFileSystem
from training_cluster.lustre_spec import DataRepositorySpec, LustreSpec
from training_cluster.lustre_volume import ExistingLustreFileSystem, LustreVolume
from training_cluster.monitoring import ClusterMonitoring
from training_cluster.mpi_operator import MpiOperator
from training_cluster.network import TrainingNetwork
from training_cluster.pod_identity import PodRole

__all__ = [
    "ClusterAutoscaler",
    "ClusterConfig",
    "ClusterMonitoring",
    "CostEstimate",
    "DataRepositorySpec",
    "EfaDevicePlugin",
    "EfaSecurityGroup",
    "ElasticFileSystem",
    "ElasticVolume",
    "ExistingCluster",
    "ExistingElasticFileSystem",
    "ExistingLustreFileSystem",
    "GpuNodeGroup",
    "GpuNodeGroupSpec",
    "ImageRepository",
    "JobIdentity",
    "LustreFileSystem",
    "LustreSpec",
    "LustreVolume",
    "MpiOperator",
    "NvidiaDevicePlugin",
    "PodRole",
    "ServiceAccountSpec",
    "TrainingBucket",
    "TrainingBudget",
    "TrainingCluster",
    "TrainingKey",
    "TrainingNetwork",
    "hourly_cost",
    "load_config",
]
