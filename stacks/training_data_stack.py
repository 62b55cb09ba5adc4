"""The stack that outlives every cluster."""

from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster import ImageBuild, ImageRepository, TrainingBucket, TrainingBudget, TrainingKey

__all__ = ["TrainingDataStack"]


class TrainingDataStack(Stack):
    """Key, bucket and image repository, which stay when the stack is destroyed, and the project that builds images.

    What exists and is named is no part of the stack: neither it nor its policy changes.

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
        existing_bucket: str | None = None,
        existing_key: str | None = None,
        existing_repository: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Define the stack.

        Args:
            scope: The app.
            id: Name of the stack.
            monthly_budget_usd: US dollars a month for the whole account. Default: no budget.
            email: Address that gets the budget's mails. Default: no budget.
            existing_bucket: Name of a bucket, in place of a new one; where it is encrypted with KMS, `existing_key` is
                its key.
            existing_key: ARN of a key, in place of a new one.
            existing_repository: Name of a repository of images, in place of a new one.
            **kwargs: Those of `aws_cdk.Stack`.
        """
        super().__init__(scope, id, **kwargs)
        self.key = self._key(existing_key)
        self.bucket = self._bucket(existing_bucket, None if existing_key is None else self.key)
        self.repository = self._repository(existing_repository)
        self.image_build = ImageBuild(self, "ImageBuild", repository=self.repository, encryption_key=self.key)
        if monthly_budget_usd is not None and email is not None:
            TrainingBudget(self, "Budget", monthly_usd=monthly_budget_usd, email=email)
        CfnOutput(self, "BucketName", value=self.bucket.bucket_name)
        CfnOutput(self, "ImageRepositoryUri", value=self.repository.repository_uri)
        CfnOutput(self, "ImageBuildProject", value=self.image_build.project_name)
        CfnOutput(self, "ImageSourceBucket", value=self.image_build.sources.bucket_name)
        CfnOutput(self, "KeyArn", value=self.key.key_arn)

    def _key(self, existing: str | None) -> kms.IKey:
        return kms.Key.from_key_arn(self, "Key", existing) if existing else TrainingKey(self, "Key")

    def _bucket(self, existing: str | None, existing_key: kms.IKey | None) -> s3.IBucket:
        if not existing:
            return TrainingBucket(self, "Bucket", encryption_key=self.key)
        # A key that this stack defines is not that of its objects.
        return s3.Bucket.from_bucket_attributes(self, "Bucket", bucket_name=existing, encryption_key=existing_key)

    def _repository(self, existing: str | None) -> ecr.IRepository:
        if not existing:
            return ImageRepository(self, "Images", encryption_key=self.key)
        return ecr.Repository.from_repository_name(self, "Images", existing)
