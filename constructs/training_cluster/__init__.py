"""AWS CDK constructs for a GPU training cluster; each can be used alone in another app."""

# First: it chooses the Node.js that aws_cdk starts, or says what to install.
import training_workloads  # noqa: F401  # isort: skip

from training_cluster.cluster.imported_cluster import ImportedCluster
from training_cluster.cluster.training_cluster import TrainingCluster
from training_cluster.complete_training_cluster import CompleteTrainingCluster
from training_cluster.config import ClusterConfig, load_config
from training_cluster.identity.encryption_key import TrainingKey
from training_cluster.identity.job_identity import JobIdentity
from training_cluster.identity.pod_identity import PodRole
from training_cluster.monitoring.cluster_monitoring import ClusterMonitoring
from training_cluster.monitoring.cost import CostEstimate, TrainingBudget, hourly_cost
from training_cluster.network.training_network import TrainingNetwork
from training_cluster.nodes.efa_security_group import EfaSecurityGroup
from training_cluster.nodes.gpu_node_group import GpuNodeGroup
from training_cluster.nodes.node_repair import NodeRepair, NodeRepairOverride
from training_cluster.platform.cluster_autoscaler import ClusterAutoscaler
from training_cluster.platform.device_plugins import EfaDevicePlugin, NvidiaDevicePlugin
from training_cluster.platform.ebs_driver import EbsDriver
from training_cluster.platform.job_queue import JobQueue
from training_cluster.platform.metrics_server import MetricsServer
from training_cluster.platform.mpi_operator import MpiOperator
from training_cluster.platform.namespaces import Namespaces
from training_cluster.platform.pre_pulled_images import PrePulledImages
from training_cluster.platform.training_platform import TrainingPlatform
from training_cluster.storage.data_repository import DataRepository
from training_cluster.storage.elastic_file_system import ElasticFileSystem, ElasticVolume
from training_cluster.storage.image_build import ImageBuild
from training_cluster.storage.image_repository import ImageRepository
from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_cluster.storage.lustre_volume import LustreVolume
from training_cluster.storage.training_bucket import TrainingBucket

__all__ = [
    "ClusterAutoscaler",
    "ClusterConfig",
    "ClusterMonitoring",
    "CompleteTrainingCluster",
    "CostEstimate",
    "DataRepository",
    "EbsDriver",
    "EfaDevicePlugin",
    "EfaSecurityGroup",
    "ElasticFileSystem",
    "ElasticVolume",
    "GpuNodeGroup",
    "ImageBuild",
    "ImageRepository",
    "ImportedCluster",
    "JobIdentity",
    "JobQueue",
    "LustreFileSystem",
    "LustreVolume",
    "MetricsServer",
    "MpiOperator",
    "Namespaces",
    "NodeRepair",
    "NodeRepairOverride",
    "NvidiaDevicePlugin",
    "PodRole",
    "PrePulledImages",
    "TrainingBucket",
    "TrainingBudget",
    "TrainingCluster",
    "TrainingKey",
    "TrainingNetwork",
    "TrainingPlatform",
    "hourly_cost",
    "load_config",
]
