"""The stack that outlives every cluster."""

from typing import Any

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from training_cluster import ImageRepository, TrainingBucket

__all__ = ["TrainingDataStack"]


class TrainingDataStack(Stack):
    """Bucket and image repository; both stay when the stack is destroyed.

    Attributes:
        bucket: Datasets in, checkpoints and results out.
        repository: Training images.
    """

    def __init__(self, scope: Construct, id: str, **kwargs: Any) -> None:
        """Defines the stack.

        Args:
            scope: The app.
            id: Name of the stack.
            **kwargs: Those of `aws_cdk.Stack`.
        """
        super().__init__(scope, id, **kwargs)
        self.bucket = TrainingBucket(self, "Bucket").bucket
        self.repository = ImageRepository(self, "Images").repository
        CfnOutput(self, "BucketName", value=self.bucket.bucket_name)
        CfnOutput(self, "ImageRepositoryUri", value=self.repository.repository_uri)
