"""The keys that name an existing bucket, KMS key and image repository, as an earlier deployment leaves them."""

import re
from typing import Annotated

from pydantic import Field

from training_workloads.catalog.regions import PARTITIONS
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, matches

__all__ = ["ExistingDataConfig", "key_is_of_the_region"]

_PARTITION = "|".join(PARTITIONS)

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
_BUCKET = r"(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
_BUCKET_RULE = "the name of the bucket, without s3:// and without a folder ('aws s3 ls' shows those of the account)"

# An alias can be given to another key, and IAM policies name keys only:
# https://docs.aws.amazon.com/kms/latest/developerguide/alias-authorization.html
_KEY = re.compile(rf"arn:({_PARTITION}):kms:(?P<region>[a-z0-9-]+):[0-9]{{12}}:key/(mrk-)?[0-9a-f-]{{32,36}}")
_KEY_RULE = (
    "the ARN of the key and not of an alias, such as "
    "arn:aws:kms:us-east-1:111122223333:key/01234567-89ab-cdef-0123-456789abcdef ('aws kms describe-key' shows it)"
)

# https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html
_REPOSITORY = r"(?=.{2,256}$)[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
_REPOSITORY_RULE = "the name of the repository, without the registry ('aws ecr describe-repositories' shows it)"


def _repository(name: str, value: str) -> Problems:
    """Reject the address of a repository, which has its registry, and other text."""
    host, _, rest = value.partition("/")
    if ".dkr" in host:
        allowed = "that is an address with the registry"
        yield Problem(path=(name,), given=value, allowed=allowed, fix=f"give {rest.partition(':')[0] or 'its name'}")
    else:
        yield from matches(name, value, _REPOSITORY, _REPOSITORY_RULE)


class ExistingDataConfig(Spec):
    """What the data stack uses in place of a new bucket, key and repository.

    Attributes:
        existing_bucket: Name of a bucket to use in place of a new one, such as the one that an earlier deployment left.
            Default: a new one.
        existing_key: ARN of the KMS key to use in place of a new one. A bucket that is encrypted with KMS needs it: the
            bucket's key. Default: a new one.
        existing_repository: Name of an ECR repository of training images to use in place of a new one. Default: a new
            one.
    """

    existing_bucket: Annotated[str, Checked(matches, _BUCKET, _BUCKET_RULE, typed=True)] | None = Field(
        default=None, examples=["trainingdatastack-bucket83908e77-0abcdefghijk"]
    )
    existing_key: Annotated[str, Checked(matches, _KEY.pattern, _KEY_RULE, typed=True)] | None = Field(
        default=None, examples=["arn:aws:kms:us-east-1:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"]
    )
    existing_repository: Annotated[str, Checked(_repository, typed=True)] | None = Field(
        default=None, examples=["trainingdatastack-images2d38c313-0abcdefghijk"]
    )


def key_is_of_the_region(key: str | None, region: str | None) -> Problems:
    """Reject an `existing_key` of another region than the zones': volumes, file systems and logs use no such key."""
    found = _KEY.fullmatch(key or "")
    if found and region and found["region"] != region:
        yield Problem(
            path=("existing_key",),
            given=key,
            allowed=f"availability_zones are of {region}",
            fix=f"give a key of {region}, or the zones of {found['region']}",
            related=(("availability_zones",),),
        )
