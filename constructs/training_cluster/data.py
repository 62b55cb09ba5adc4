"""What outlives a cluster: the bucket of datasets and results, and the repository of images."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_s3 as s3
from constructs import Construct

__all__ = ["ImageRepository", "TrainingBucket"]

_UNTAGGED_IMAGES_KEPT = 10


class TrainingBucket(Construct):
    """A private, encrypted, versioned bucket: datasets in, checkpoints and results out. Retained on deletion.

    Attributes:
        bucket: The bucket.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        """Defines the bucket.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
        """
        super().__init__(scope, id)
        self.bucket = s3.Bucket(
            self,
            "Resource",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            versioned=True,
            removal_policy=RemovalPolicy.RETAIN,
        )


class ImageRepository(Construct):
    """A repository of training images, scanned on push. Retained on deletion.

    Attributes:
        repository: The ECR repository.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        """Defines the repository.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
        """
        super().__init__(scope, id)
        self.repository = ecr.Repository(
            self,
            "Resource",
            image_scan_on_push=True,
            # A tag names one image for ever, so that a job can be run again.
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            removal_policy=RemovalPolicy.RETAIN,
        )
        self.repository.add_lifecycle_rule(tag_status=ecr.TagStatus.UNTAGGED, max_image_count=_UNTAGGED_IMAGES_KEPT)
