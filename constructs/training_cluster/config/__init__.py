"""The configuration file of a cluster: its sections, its rules and its loader.

Top-level keys: `cluster_config`; nested sections: `sections`.
"""

from training_cluster.config.cluster_config import ClusterConfig
from training_cluster.config.existing import ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig
from training_cluster.config.loader import load_config
from training_cluster.config.sagemaker_section import NotebookConfig, SageMakerConfig
from training_cluster.config.sections import (
    DataRepositoryConfig,
    GpuNodeGroupConfig,
    JobQueueConfig,
    LustreConfig,
    NodeRepairConfig,
    NodeRepairOverrideConfig,
    ServiceAccountConfig,
)

__all__ = [
    "ClusterConfig",
    "DataRepositoryConfig",
    "ExistingEfsConfig",
    "ExistingLustreConfig",
    "ExistingVpcConfig",
    "GpuNodeGroupConfig",
    "JobQueueConfig",
    "LustreConfig",
    "NodeRepairConfig",
    "NodeRepairOverrideConfig",
    "NotebookConfig",
    "SageMakerConfig",
    "ServiceAccountConfig",
    "load_config",
]
