"""The repository of training images, which outlives a cluster."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ecr as ecr
from constructs import Construct

from training_cluster.checks import Key
from training_cluster.constant_exports import export_always
from training_cluster.suppressions import suppress
from training_workloads.keywords import checked

__all__ = ["ImageRepository"]

_UNTAGGED_IMAGES_KEPT = 10


class ImageRepository(ecr.Repository):
    """A repository of training images, scanned on push. Retained on deletion."""

    @checked
    def __init__(self, scope: Construct, id: str, *, encryption_key: Key | None = None) -> None:
        """Define the repository.

        Args:
            encryption_key: Key of the images; a repository keeps the key that it was created with. Default: a key of
                ECR.

        Raises:
            InputError: `encryption_key` is of another type.
        """
        super().__init__(
            scope,
            id,
            encryption=ecr.RepositoryEncryption.KMS if encryption_key else ecr.RepositoryEncryption.AES_256,
            encryption_key=encryption_key,
            image_scan_on_push=True,
            # A tag names one image for ever, so that a job can be repeated.
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            removal_policy=RemovalPolicy.RETAIN,
        )
        self.add_lifecycle_rule(tag_status=ecr.TagStatus.UNTAGGED, max_image_count=_UNTAGGED_IMAGES_KEPT)
        if encryption_key is None:
            suppress(self, "encrypted with ECR's key, as no key was given", "CKV_AWS_136")
        # Its URI consists of both.
        export_always(self, self.repository_name, self.repository_arn)
