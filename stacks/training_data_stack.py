"""The stack that outlives every cluster."""

from typing import Any

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from training_cluster import ImageBuild, ImageRepository, TrainingBucket, TrainingBudget, TrainingKey

__all__ = ["TrainingDataStack"]


class TrainingDataStack(Stack):
    """Key, bucket and image repository, which stay when the stack is destroyed, and the project that builds images.

    Attributes:
        key: The key of the bucket, of the images, and of the clusters' data.
        bucket: The bucket: datasets in, checkpoints and results out.
        repository: The repository of training images.
        image_build: The CodeBuild project of `trainctl image build --with codebuild`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        monthly_budget_usd: int | None = None,
        email: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Define the stack.

        Args:
            scope: The app.
            id: Name of the stack.
            monthly_budget_usd: US dollars a month for the whole account. Default: no budget.
            email: Address that gets the budget's mails. Default: no budget.
            **kwargs: Those of `aws_cdk.Stack`.
        """
        super().__init__(scope, id, **kwargs)
        self.key = TrainingKey(self, "Key")
        self.bucket = TrainingBucket(self, "Bucket", encryption_key=self.key)
        self.repository = ImageRepository(self, "Images", encryption_key=self.key)
        self.image_build = ImageBuild(self, "ImageBuild", repository=self.repository, encryption_key=self.key)
        if monthly_budget_usd is not None and email is not None:
            TrainingBudget(self, "Budget", monthly_usd=monthly_budget_usd, email=email)
        CfnOutput(self, "BucketName", value=self.bucket.bucket_name)
        CfnOutput(self, "ImageRepositoryUri", value=self.repository.repository_uri)
        CfnOutput(self, "ImageBuildProject", value=self.image_build.project_name)
        CfnOutput(self, "ImageSourceBucket", value=self.image_build.sources.bucket_name)
        CfnOutput(self, "KeyArn", value=self.key.key_arn)
