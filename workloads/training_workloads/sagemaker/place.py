"""Where SageMaker runs a training job and keeps its files: what the stack has as outputs, or what the user gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from training_workloads.names import aws_id
from training_workloads.validation import MISSING, Problem, Problems, check, matches

__all__ = ["JOB_TAG", "SAGEMAKER_STACK", "Place"]

#: The stack that defines the role, the network and the bucket.
SAGEMAKER_STACK: Final = "SageMakerTrainingStack"

#: Tag of each training job; its value is that of the stack, by which IAM knows whose job it is.
JOB_TAG: Final = "training-cluster:jobs-of"

# https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html (read 2026-11-23)
_ROLE = r"arn:aws[a-z-]*:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+"
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html (read 2026-11-23)
_BUCKET = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a job runs.

    Attributes:
        role: ARN of the role that SageMaker assumes for the job.
        bucket: Name of the bucket with data sets in `data/` and runs in `runs/`.
        subnets: Ids of the VPC's subnets. Default: no VPC of the account.
        security_groups: Ids of the security groups, in the same VPC.
        lustre_folder: Id and mount name of the file system that mirrors the bucket, such as `fs-…:/abcdefgh`.
            Default: none.
        data_prefix: Folder of the bucket that the role may read, beside `runs`; empty for the whole bucket. Default:
            not known.
        key: ARN of the key that encrypts what SageMaker writes at the end. Default: Amazon S3's own.
        job_tag: Value of the tag that the jobs of `SageMakerTraining.grant_submit` must have. Default: no tag.
    """

    role: str
    bucket: str
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    lustre_folder: str | None = None
    data_prefix: str | None = None
    key: str | None = None
    job_tag: str | None = None

    @classmethod
    def of_stack(cls, outputs: Mapping[str, str]) -> Self:
        """Return the place that the outputs of a stack describe; `check` finds what they do not have."""
        file_system, mount_name = outputs.get("LustreFileSystemId"), outputs.get("LustreMountName")
        return cls(
            role=outputs.get("TrainingRoleArn", ""),
            bucket=outputs.get("BucketName", ""),
            subnets=_words(outputs.get("SubnetIds", "")),
            security_groups=_words(outputs.get("SecurityGroupId", "")),
            lustre_folder=f"{file_system}:/{mount_name}" if file_system and mount_name else None,
            data_prefix=outputs["DataPrefix"].strip("/") if "DataPrefix" in outputs else None,
            key=outputs.get("KeyArn"),
            job_tag=outputs.get("JobTag"),
        )

    def changed(
        self, *, role: str | None, bucket: str | None, subnets: str | None, security_groups: str | None
    ) -> "Place":
        """Return the place with what the user gives in place of an output; lists are joined by commas."""
        return Place(
            role=self.role if role is None else role,
            bucket=self.bucket if bucket is None else bucket,
            subnets=self.subnets if subnets is None else _words(subnets),
            security_groups=self.security_groups if security_groups is None else _words(security_groups),
            # The file system of the stack mirrors its bucket, and is in its network.
            lustre_folder=self.lustre_folder if bucket is None and subnets is None else None,
            # Another role may read other folders, and may not use the key.
            data_prefix=self.data_prefix if bucket is None and role is None else None,
            key=self.key if bucket is None and role is None else None,
            job_tag=self.job_tag,
        )

    def check(self) -> None:
        """Reject values that AWS would reject.

        Raises:
            InputError: A value is missing, or of another form.
        """
        check(*(rule(self) for rule in (_role, _bucket, _network)))


def _words(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _role(place: Place) -> Problems:
    yield from matches("role", place.role or MISSING, _ROLE, "the ARN of a role that SageMaker may assume")


def _bucket(place: Place) -> Problems:
    yield from matches("bucket", place.bucket or MISSING, _BUCKET, "the name of a bucket, without s3://")


def _network(place: Place) -> Problems:
    for each in place.subnets:
        yield from aws_id("subnets", each, "subnet", "aws ec2 describe-subnets")
    for each in place.security_groups:
        yield from aws_id("security_groups", each, "sg", "aws ec2 describe-security-groups")
    if bool(place.subnets) != bool(place.security_groups):
        missing = "security_groups" if place.subnets else "subnets"
        allowed = "a VPC needs both subnets and security groups"
        yield Problem(path=(missing,), given=MISSING, allowed=allowed, fix="give it, or omit the other one")
