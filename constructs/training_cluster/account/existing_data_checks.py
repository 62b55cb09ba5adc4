"""Checks of the bucket, the key and the repository that the configuration names.

No stack changes them, their policies or their settings: a row shows what the template would have set.
"""

import json
from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.key_policies import allows
from training_cluster.identity.encryption_key import policy_of_an_own_key
from training_workloads.aws.errors import NoPermissionError
from training_workloads.catalog.regions import PARTITIONS, Partition, partition_of

__all__ = ["existing_bucket_fits", "existing_key_fits", "existing_repository_fits"]

# The region that S3 does not name: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLocation.html
_FIRST_REGION = "us-east-1"
_NO_BUCKET = "NoSuchBucket"
_NO_ENCRYPTION = "ServerSideEncryptionConfigurationNotFoundError"
_NO_BLOCK = "NoSuchPublicAccessBlockConfiguration"
_NO_REPOSITORY = "RepositoryNotFoundException"
_NO_KEY = "NotFoundException"

_S3S_KEY = "a key of S3"

# The name that FSx gives its notifications; further file systems add to them.
_OF_FSX = "FSx"
# "The S3 bucket has existing event notifications that overlap with FSx event types":
# https://docs.aws.amazon.com/fsx/latest/LustreGuide/dra-lifecycles.html
_EVENTS_OF_FSX = ("s3:ObjectCreated:", "s3:ObjectRemoved:")
_NOTIFICATIONS = ("TopicConfigurations", "QueueConfigurations", "LambdaFunctionConfigurations")


def existing_bucket_fits(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the bucket's owner, region, key and notifications with what Lustre and the jobs need."""
    bucket = deployment.config.existing_bucket
    if bucket is None:
        return
    account = deployment.account
    where = account.find("s3", "get_bucket_location", _NO_BUCKET, Bucket=bucket)
    missing = where is None
    region = (where or {}).get("LocationConstraint") or _FIRST_REGION
    ours = not missing and _is_ours(deployment, bucket)
    yield decided(
        "existing bucket",
        ours and region == account.region,
        actual=f"there is no bucket {bucket}" if missing else f"{region}, {'this' if ours else 'another'} account",
        needed=f"{account.region}, this account",
        remedy="'aws s3 ls' shows those of the account: correct existing_bucket, or set AWS_REGION",
    )
    if missing:
        return
    yield _key_of_the_bucket(deployment, bucket)
    yield from _protection(deployment, bucket)
    if deployment.config.existing_lustre is None:
        yield from _notifications(deployment, bucket)


def _is_ours(deployment: Deployment, bucket: str) -> bool:
    """Return whether the bucket is of this account: S3 forbids the same request to the owner of another one."""
    account = deployment.account
    try:
        account.ask("s3", "get_bucket_location", Bucket=bucket, ExpectedBucketOwner=account.number)
    except NoPermissionError:
        return False
    return True


def _key_of_the_bucket(deployment: Deployment, bucket: str) -> CheckResult:
    """Jobs get permissions on `existing_key`; objects under another key they cannot read."""
    named = deployment.config.existing_key
    found = deployment.account.find("s3", "get_bucket_encryption", _NO_ENCRYPTION, Bucket=bucket)
    rules = found["ServerSideEncryptionConfiguration"]["Rules"] if found else [{}]
    default = rules[0].get("ApplyServerSideEncryptionByDefault", {})
    key = default.get("KMSMasterKeyID") if default.get("SSEAlgorithm", "").startswith("aws:kms") else None
    # S3 names it by its ARN, its id or an alias, as the bucket's owner did.
    same = key is None or key == named or (named or "").endswith(f":key/{key}")
    return decided(
        "key of the existing bucket",
        same,
        actual=key or _S3S_KEY,
        needed=f"{named} or {_S3S_KEY}" if named else _S3S_KEY,
        remedy=f"set existing_key to the ARN of {key}: jobs and Lustre may use no other key than that",
    )


def _protection(deployment: Deployment, bucket: str) -> Iterator[CheckResult]:
    """Show the settings that a new bucket would have: versions, and no public access."""
    account = deployment.account
    versions = account.ask("s3", "get_bucket_versioning", Bucket=bucket).get("Status", "none")
    lost = "" if versions == "Enabled" else ": an object that is overwritten or deleted is lost"
    # The owner of the bucket decides.
    yield decided(
        "versions of the existing bucket", True, actual=f"{versions}{lost}", needed="the bucket's own", remedy=""
    )
    found = account.find("s3", "get_public_access_block", _NO_BLOCK, Bucket=bucket)
    block = found["PublicAccessBlockConfiguration"] if found else {}
    is_private = len(block) > 0 and all(block.values())
    yield decided(
        "public access to the existing bucket",
        is_private,
        actual="blocked" if is_private else "not blocked, or in part",
        needed="blocked",
        remedy=f"aws s3api put-public-access-block --bucket {bucket} --public-access-block-configuration "
        "BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=true,RestrictPublicBuckets=true",
    )


def _notifications(deployment: Deployment, bucket: str) -> Iterator[CheckResult]:
    """Find notifications that would leave a data repository MISCONFIGURED: S3 accepts no two for one event."""
    links = deployment.config.lustre.data_repositories
    if not links:
        return
    found = deployment.account.ask("s3", "get_bucket_notification_configuration", Bucket=bucket)
    others = [each for kind in _NOTIFICATIONS for each in found.get(kind, ()) if not _is_of_fsx(each)]
    wrong = [each.get("Id", "without a name") for each in others if any(_overlaps(each, link.prefix) for link in links)]
    yield decided(
        "notifications of the existing bucket",
        not wrong,
        actual=f"{', '.join(wrong)} for objects that appear or go" if wrong else "none that overlap",
        needed="none for the prefixes of lustre.data_repositories, where FSx adds its own",
        remedy=f"limit {' and '.join(wrong)} to other prefixes, or send events to EventBridge in their place ('aws "
        "s3api get-bucket-notification-configuration' shows them)",
    )


def _is_of_fsx(notification: dict[str, Any]) -> bool:
    return str(notification.get("Id", "")).startswith(_OF_FSX)


def _overlaps(notification: dict[str, Any], prefix: str) -> bool:
    """Return whether a notification is of events and keys that FSx needs."""
    if not any(event.startswith(_EVENTS_OF_FSX) for event in notification["Events"]):
        return False
    rules = notification.get("Filter", {}).get("Key", {}).get("FilterRules", ())
    of_it = next((each["Value"] for each in rules if each["Name"].lower() == "prefix"), "")
    return bool(of_it.startswith(prefix) or prefix.startswith(of_it))


def existing_key_fits(deployment: Deployment) -> Iterator[CheckResult]:
    """Read the key's state, and whether its policy allows each service that encrypts with it."""
    arn = deployment.config.existing_key
    if arn is None:
        return
    account = deployment.account
    answer = account.find("kms", "describe_key", _NO_KEY, KeyId=arn)
    key = answer["KeyMetadata"] if answer else {}
    here = f"arn:{_partition(deployment).name}:kms:{account.region}:{account.number}:"
    wanted = ("Enabled", "SYMMETRIC_DEFAULT")
    actual = (key.get("KeyState"), key.get("KeySpec"))
    yield decided(
        "existing key",
        actual == wanted and arn.startswith(here),
        actual=f"{', '.join(map(str, actual))} in {':'.join(arn.split(':')[3:5])}" if key else f"there is no {arn}",
        needed=f"{', '.join(wanted)} in {account.region}:{account.number}",
        remedy="'aws kms list-keys' shows those of the account: correct existing_key, or 'aws kms enable-key'",
    )
    if key and arn.startswith(here):
        yield from _policy(deployment, arn)


def _policy(deployment: Deployment, arn: str) -> Iterator[CheckResult]:
    """Compare the key's policy with what a new key would have: a stack does not change that of an imported key."""
    account, config = deployment.account, deployment.config
    answer = account.ask("kms", "get_key_policy", KeyId=arn, PolicyName="default")
    policy = json.loads(answer["Policy"])
    partition = _partition(deployment)
    wanted = policy_of_an_own_key(
        partition=partition.name,
        suffix=partition.domain,
        region=account.region,
        account=account.number,
        alarms=config.alarm_email is not None,
    )
    for statement in wanted:
        allowed = allows(policy, statement)
        yield decided(
            f"existing key: {statement['Sid']}",
            allowed,
            actual="allowed" if allowed else "no statement of its policy allows it",
            needed="allowed",
            remedy=f"add this statement with 'aws kms put-key-policy': {json.dumps(statement)}",
        )


def _partition(deployment: Deployment) -> Partition:
    """Return the partition of the region; that of the credentials where the region is newer than the catalog."""
    account = deployment.account
    return partition_of(account.region) or PARTITIONS[account.identity.split(":")[1]]


def existing_repository_fits(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up the repository; whether a tag can name another image later is its owner's choice."""
    name = deployment.config.existing_repository
    if name is None:
        return
    answer = deployment.account.find("ecr", "describe_repositories", _NO_REPOSITORY, repositoryNames=[name])
    found = answer["repositories"][0] if answer else None
    region = deployment.account.region
    yield decided(
        "existing repository",
        found is not None,
        actual=f"tags are {found['imageTagMutability']}" if found else f"{region} of this account has no {name}",
        needed=name,
        remedy="'aws ecr describe-repositories' shows those of the region: correct existing_repository, or set "
        "AWS_REGION",
    )
