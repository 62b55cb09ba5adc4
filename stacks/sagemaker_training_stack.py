"""The stack of the managed alternative: resources of training jobs on SageMaker."""

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster import CompleteSageMakerTraining, SageMakerConfig

__all__ = ["SageMakerTrainingStack"]


class SageMakerTrainingStack(Stack):
    """A `CompleteSageMakerTraining` by the name that `cdk deploy` knows.

    Attributes:
        training: Role, subnets and security group of the jobs.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: SageMakerConfig,
        bucket: s3.IBucket,
        repository: ecr.IRepository,
        encryption_key: kms.IKey | None = None,
        **kwargs: Any,
    ) -> None:
        """Define the stack; the arguments are those of `CompleteSageMakerTraining` and of `aws_cdk.Stack`."""
        super().__init__(scope, id, **kwargs)
        # CDK omits "Default" from logical ids, so that the outputs have short names.
        whole = CompleteSageMakerTraining(
            self, "Default", config=config, bucket=bucket, repository=repository, encryption_key=encryption_key
        )
        self.training = whole.training
        # The outputs name the bucket and the images, which are of another stack: `trainctl sagemaker` reads one stack.
        self.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W6001"]}})
