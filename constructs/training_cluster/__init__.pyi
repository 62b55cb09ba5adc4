from .cluster.imported_cluster import ImportedCluster
from .cluster.training_cluster import TrainingCluster
from .complete_sagemaker_training import CompleteSageMakerTraining
from .complete_training_cluster import CompleteTrainingCluster
from .config import ClusterConfig, SageMakerConfig, load_config
from .identity.encryption_key import TrainingKey
from .identity.job_identity import JobIdentity
from .identity.pod_identity import PodRole
from .monitoring.cluster_monitoring import ClusterMonitoring
from .monitoring.cost import CostEstimate, LustreStorage, RootVolume, TrainingBudget, hourly_cost
from .network.training_network import TrainingNetwork
from .nodes.efa_security_group import EfaSecurityGroup
from .nodes.gpu_node_group import GpuNodeGroup
from .nodes.node_repair import NodeRepair, NodeRepairOverride
from .platform.cluster_autoscaler import ClusterAutoscaler
from .platform.device_plugins import EfaDevicePlugin, NvidiaDevicePlugin
from .platform.job_queue import JobQueue
from .platform.mpi_operator import MpiOperator
from .platform.namespaces import Namespaces
from .platform.optional_addons import EbsDriver, MetricsServer
from .platform.pre_pulled_images import PrePulledImages
from .platform.training_platform import TrainingPlatform
from .sagemaker.sagemaker_training import SageMakerTraining
from .sagemaker.training_notebook import TrainingNotebook
from .sagemaker.training_role import SageMakerTrainingRole
from .storage.elastic_file_system import ElasticFileSystem, ElasticVolume
from .storage.image_build import ImageBuild
from .storage.image_repository import ImageRepository
from .storage.lustre_file_system import LustreFileSystem
from .storage.lustre_spec import DataRepository
from .storage.lustre_volume import LustreVolume
from .storage.training_bucket import TrainingBucket
from .team.team import Team

__all__ = [
    "ClusterAutoscaler",
    "ClusterConfig",
    "ClusterMonitoring",
    "CompleteSageMakerTraining",
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
    "LustreStorage",
    "LustreVolume",
    "MetricsServer",
    "MpiOperator",
    "Namespaces",
    "NodeRepair",
    "NodeRepairOverride",
    "NvidiaDevicePlugin",
    "PodRole",
    "PrePulledImages",
    "RootVolume",
    "SageMakerConfig",
    "SageMakerTraining",
    "SageMakerTrainingRole",
    "Team",
    "TrainingBucket",
    "TrainingBudget",
    "TrainingCluster",
    "TrainingKey",
    "TrainingNetwork",
    "TrainingNotebook",
    "TrainingPlatform",
    "hourly_cost",
    "load_config",
]
