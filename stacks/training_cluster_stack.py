"""The stack that costs money by the hour and can be destroyed at any time."""

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster import ClusterConfig, CompleteTrainingCluster

__all__ = ["TrainingClusterStack"]


class TrainingClusterStack(Stack):
    """A `CompleteTrainingCluster` by the name that `cdk deploy` knows.

    Attributes:
        config: The configuration.
        network: The VPC.
        cluster: The EKS cluster.
        node_groups: GPU node groups by name.
        file_systems: The Lustre file systems, that of the training zone first.
        file_system: The first of them.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ClusterConfig,
        bucket: s3.IBucket,
        encryption_key: kms.IKey | None = None,
        **kwargs: Any,
    ) -> None:
        """Define the stack; the arguments are those of `CompleteTrainingCluster` and of `aws_cdk.Stack`."""
        super().__init__(scope, id, **kwargs)
        # CDK omits "Default" from logical ids, so that the outputs have short names.
        whole = CompleteTrainingCluster(self, "Default", config=config, bucket=bucket, encryption_key=encryption_key)
        self.config, self.network, self.cluster = config, whole.network, whole.cluster
        self.node_groups, self.file_systems = whole.node_groups, whole.file_systems
        self.file_system = whole.file_system
