"""The configuration file of a cluster: its sections, its rules and its loader.

Top-level keys: `cluster_config`; nested sections: `sections`.
"""

from training_cluster.config.cluster_config import ClusterConfig
from training_cluster.config.loader import load_config
from training_cluster.config.sections import (
    ExistingEfsConfig,
    ExistingLustreConfig,
    ExistingVpcConfig,
    GpuNodeGroupConfig,
    LustreConfig,
    SageMakerConfig,
)
from training_cluster.identity.job_identity import JobIdentitySpec
from training_cluster.nodes.system_nodes import SystemNodesSpec
from training_cluster.platform.job_queue import JobQueueSpec
from training_cluster.sagemaker.training_notebook import NotebookSpec
from training_cluster.team.team_spec import TeamSpec

__all__ = [
    "ClusterConfig",
    "ExistingEfsConfig",
    "ExistingLustreConfig",
    "ExistingVpcConfig",
    "GpuNodeGroupConfig",
    "JobIdentitySpec",
    "JobQueueSpec",
    "LustreConfig",
    "NotebookSpec",
    "SageMakerConfig",
    "SystemNodesSpec",
    "TeamSpec",
    "load_config",
]
