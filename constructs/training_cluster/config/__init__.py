"""The configuration file of a cluster: what it may say, and how it is read."""

from training_cluster.config.cluster_config import ClusterConfig
from training_cluster.config.loader import load_config
from training_cluster.config.service_account_spec import ServiceAccountSpec

__all__ = ["ClusterConfig", "ServiceAccountSpec", "load_config"]
