import json
from typing import Any

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.check_result import CheckResult
from training_cluster.account.existing_data_checks import (
    existing_bucket_fits,
    existing_key_fits,
    existing_repository_fits,
)
from training_cluster.account.image_checks import images_are_in_ecr
from training_cluster.account.key_policies import allows
from training_cluster.account.lustre_checks import data_set_fits_on_lustre
from training_cluster.account.preflight import Check, run_checks
from training_cluster.identity.encryption_key import policy_of_an_own_key

BUCKET = "trainingdatastack-bucket83908e77-0abcdefghijk"
ID = "01234567-89ab-cdef-0123-456789abcdef"
KEY = f"arn:aws:kms:us-west-2:111122223333:key/{ID}"
OTHER_KEY = "arn:aws:kms:us-west-2:111122223333:key/fedcba98-7654-3210-fedc-ba9876543210"
PRIVATE = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True)
ROOT = {
    "Sid": "Owner",
    "Effect": "Allow",
    "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
    "Action": "kms:*",
    "Resource": "*",
}


def wanted(*, alarms: bool = False) -> list[dict[str, Any]]:
    return policy_of_an_own_key(
        partition="aws", suffix="amazonaws.com", region="us-west-2", account="111122223333", alarms=alarms
    )


def answer_bucket(
    account: StubbedAccount,
    *,
    region: str = "us-west-2",
    key: str | None = None,
    versions: str = "Enabled",
    block: dict[str, bool] = PRIVATE,
    notifications: dict[str, Any] | None = None,
) -> None:
    account.answer_identity()
    where = {"LocationConstraint": region} if region != "us-east-1" else {}
    account.answer("s3", "get_bucket_location", where, {"Bucket": BUCKET})
    account.answer("s3", "get_bucket_location", where, {"Bucket": BUCKET, "ExpectedBucketOwner": "111122223333"})
    default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key} if key else {"SSEAlgorithm": "AES256"}
    rules = {"Rules": [{"ApplyServerSideEncryptionByDefault": default}]}
    account.answer("s3", "get_bucket_encryption", {"ServerSideEncryptionConfiguration": rules})
    account.answer("s3", "get_bucket_versioning", {"Status": versions} if versions else {})
    account.answer("s3", "get_public_access_block", {"PublicAccessBlockConfiguration": block})
    account.answer("s3", "get_bucket_notification_configuration", notifications or {})


def rows_of_bucket(account: StubbedAccount, **values: Any) -> dict[str, CheckResult]:
    found = existing_bucket_fits(deployment(account, existing_bucket=BUCKET, **values))
    return {each.check.removesuffix(" of the existing bucket"): each for each in found}


@pytest.mark.parametrize("check", [existing_bucket_fits, existing_key_fits, existing_repository_fits])
def test_without_the_key_there_is_nothing_to_look_up(check: Check) -> None:
    assert list(check(deployment(StubbedAccount()))) == []


def test_the_bucket_of_an_earlier_deployment_with_its_key_is_right() -> None:
    account = StubbedAccount()
    answer_bucket(account, key=KEY)
    rows = rows_of_bucket(account, existing_key=KEY)
    assert {each.state for each in rows.values()} == {"ok"}
    assert rows["existing bucket"].actual == "us-west-2, this account"
    assert rows["versions"].actual == "Enabled"
    account.all_asked()


def test_a_bucket_that_does_not_exist_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("s3", "get_bucket_location", "NoSuchBucket")
    (row,) = rows_of_bucket(account).values()
    assert (row.state, row.actual) == ("failed", f"there is no bucket {BUCKET}")
    assert row.remedy.startswith("'aws s3 ls' shows those of the account: correct existing_bucket")


def test_a_bucket_of_another_region_is_named() -> None:
    account = StubbedAccount()
    answer_bucket(account, region="us-east-1")
    row = rows_of_bucket(account)["existing bucket"]
    assert (row.state, row.actual, row.needed) == ("failed", "us-east-1, this account", "us-west-2, this account")


def test_a_bucket_of_another_account_is_named() -> None:
    account = StubbedAccount()
    account.answer_identity()
    account.answer("s3", "get_bucket_location", {"LocationConstraint": "us-west-2"})
    account.forbid("s3", "get_bucket_location")
    row = next(existing_bucket_fits(deployment(account, existing_bucket=BUCKET)))
    assert (row.state, row.actual) == ("failed", "us-west-2, another account")


@pytest.mark.parametrize(
    ("key", "named", "state"),
    [
        (KEY, None, "failed"),
        (KEY, OTHER_KEY, "failed"),
        (ID, KEY, "ok"),
        (None, None, "ok"),
        (None, KEY, "ok"),
    ],
)
def test_the_key_of_the_bucket_is_named(key: str | None, named: str | None, state: str) -> None:
    account = StubbedAccount()
    answer_bucket(account, key=key)
    row = rows_of_bucket(account, existing_key=named)["key"]
    assert row.state == state
    if state == "failed":
        assert row.actual == KEY
        assert row.remedy.startswith(f"set existing_key to the ARN of {KEY}")


def test_shows_that_nothing_keeps_old_versions() -> None:
    account = StubbedAccount()
    answer_bucket(account, versions="")
    row = rows_of_bucket(account)["versions"]
    assert (row.state, row.actual) == ("ok", "none: an object that is overwritten or deleted is lost")


@pytest.mark.parametrize("block", [PRIVATE | {"BlockPublicPolicy": False}])
def test_a_bucket_that_can_be_public_is_named(block: dict[str, bool]) -> None:
    account = StubbedAccount()
    answer_bucket(account, block=block)
    row = rows_of_bucket(account)["public access to the existing bucket"]
    assert row.state == "failed"
    assert row.remedy.startswith(f"aws s3api put-public-access-block --bucket {BUCKET}")


def notification(id: str, events: list[str], prefix: str | None) -> dict[str, Any]:
    key = {"Filter": {"Key": {"FilterRules": [{"Name": "Prefix", "Value": prefix}]}}} if prefix else {}
    return {"Id": id, "QueueArn": "arn:aws:sqs:us-west-2:111122223333:queue", "Events": events, **key}


@pytest.mark.parametrize(
    ("found", "linked", "state"),
    [
        (notification("Mine", ["s3:ObjectCreated:Put"], None), "", "failed"),
        (notification("Mine", ["s3:ObjectCreated:*"], "data/raw"), "data/", "failed"),
        (notification("Mine", ["s3:ObjectRemoved:*"], "data"), "data/a", "failed"),
        (notification("Mine", ["s3:ObjectCreated:*"], "other/"), "data/", "ok"),
        (notification("Mine", ["s3:ObjectRestore:Post"], None), "", "ok"),
        # An earlier file system's, to which FSx adds those of further ones.
        (notification("FSx", ["s3:ObjectCreated:*"], None), "", "ok"),
    ],
)
def test_notifications_that_fsx_cannot_add_to_are_named(found: dict[str, Any], linked: str, state: str) -> None:
    account = StubbedAccount()
    answer_bucket(account, notifications={"QueueConfigurations": [found]})
    lustre = {"data_repositories": [{"path": "/data", "prefix": linked}]}
    row = rows_of_bucket(account, lustre=lustre)["notifications"]
    assert (row.state, "Mine" in row.actual) == (state, state == "failed")


def test_a_missing_permission_is_named_as_iam_has_it() -> None:
    account = StubbedAccount()
    account.answer_identity()
    for expected in (None, None):
        account.answer("s3", "get_bucket_location", {"LocationConstraint": "us-west-2"}, expected)
    account.forbid("s3", "get_bucket_encryption")
    *_, row = run_checks(deployment(account, existing_bucket=BUCKET), (existing_bucket_fits,))
    assert row.remedy == "allow the action s3:GetEncryptionConfiguration"


def answer_key(account: StubbedAccount, statements: list[dict[str, Any]], **changes: str) -> None:
    found = {"KeyId": ID, "KeyState": "Enabled", "KeySpec": "SYMMETRIC_DEFAULT", **changes}
    account.answer("kms", "describe_key", {"KeyMetadata": found}, {"KeyId": KEY})
    account.answer_identity()
    policy = {"Version": "2012-10-17", "Statement": statements}
    expected = {"KeyId": KEY, "PolicyName": "default"}
    account.answer("kms", "get_key_policy", {"Policy": json.dumps(policy)}, expected)


def test_the_key_of_an_earlier_deployment_is_right() -> None:
    account = StubbedAccount()
    answer_key(account, [ROOT, *wanted()[1:]])
    rows = list(existing_key_fits(deployment(account, existing_key=KEY)))
    assert [(each.check, each.state) for each in rows] == [
        ("existing key", "ok"),
        ("existing key: ByIam", "ok"),
        ("existing key: VolumesOfNodes", "ok"),
        ("existing key: LustreInTheBucket", "ok"),
        ("existing key: LogGroups", "ok"),
    ]


def test_each_statement_that_is_missing_is_printed() -> None:
    account = StubbedAccount()
    answer_key(account, [ROOT])
    values = {"existing_key": KEY, "alarm_email": "team@example.com"}
    rows = list(existing_key_fits(deployment(account, **values)))
    missing = [each for each in rows if each.state == "failed"]
    assert [each.check.rpartition(" ")[2] for each in missing] == [
        "VolumesOfNodes",
        "LustreInTheBucket",
        "LogGroups",
        "AlarmMessages",
    ]
    for row, statement in zip(missing, wanted(alarms=True)[1:], strict=True):
        assert json.loads(row.remedy.partition(": ")[2]) == statement


@pytest.mark.parametrize("changes", [{"KeyState": "PendingDeletion"}, {"KeySpec": "RSA_2048"}])
def test_a_key_that_encrypts_nothing_is_named(changes: dict[str, str]) -> None:
    account = StubbedAccount()
    answer_key(account, [ROOT, *wanted()[1:]], **changes)
    row = next(existing_key_fits(deployment(account, existing_key=KEY)))
    assert row.state == "failed"
    assert row.remedy.endswith("correct existing_key, or 'aws kms enable-key'")


def test_a_key_of_another_account_is_named() -> None:
    account = StubbedAccount()
    arn = KEY.replace("111122223333", "444455556666")
    account.answer("kms", "describe_key", {"KeyMetadata": {"KeyId": ID, "KeyState": "Enabled"}}, {"KeyId": arn})
    account.answer_identity()
    (row,) = existing_key_fits(deployment(account, existing_key=arn))
    assert (row.state, "us-west-2:444455556666" in row.actual) == ("failed", True)


BY_ROLE = {
    "Effect": "Allow",
    "Principal": {
        "AWS": [
            "arn:aws:iam::111122223333:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
        ]
    },
    "Resource": "*",
}
USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
GRANT = {"Action": "kms:CreateGrant", "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}}}


@pytest.mark.parametrize(
    ("statements", "allowed"),
    [
        # The two statements of EC2 Auto Scaling's own page.
        ([{**BY_ROLE, "Action": USE}, {**BY_ROLE, **GRANT}], True),
        ([{**BY_ROLE, "Action": USE}], False),
        ([{**BY_ROLE, "Action": "kms:*"}], True),
        ([{**BY_ROLE, "Action": "kms:*", "Effect": "Deny"}], False),
        ([{**BY_ROLE, "Action": "kms:*", "Condition": {"StringEquals": {"kms:CallerAccount": "1"}}}], False),
        ([{**BY_ROLE, "Action": "kms:*", "Condition": {"Bool": {"aws:SecureTransport": "true"}}}], False),
        ([{**BY_ROLE, "Action": "kms:*", "Principal": {"AWS": "arn:aws:iam::111122223333:role/Other"}}], False),
    ],
)
def test_volumes_are_allowed_in_both_forms(statements: list[dict[str, Any]], allowed: bool) -> None:
    _, volumes, *_ = wanted()
    assert allows({"Statement": statements}, volumes) is allowed


def test_a_repository_is_looked_up() -> None:
    account = StubbedAccount()
    found = {"repositoryName": "images", "imageTagMutability": "IMMUTABLE"}
    account.answer("ecr", "describe_repositories", {"repositories": [found]}, {"repositoryNames": ["images"]})
    (row,) = existing_repository_fits(deployment(account, existing_repository="images"))
    assert (row.state, row.actual, row.needed) == ("ok", "tags are IMMUTABLE", "images")


def test_a_repository_that_does_not_exist_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("ecr", "describe_repositories", "RepositoryNotFoundException")
    (row,) = existing_repository_fits(deployment(account, existing_repository="images"))
    assert (row.state, row.actual) == ("failed", "us-west-2 of this account has no images")


def test_what_is_named_is_checked_before_the_data_stack_exists(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    account = StubbedAccount()
    account.answer("s3", "list_objects_v2", {"Contents": [{"Size": 1}]}, {"Bucket": BUCKET, "Prefix": ""})
    account.answer_no_stack("TrainingDataStack")
    account.answer("ecr", "describe_images", {"imageDetails": []}, {"repositoryName": "images"})
    of_both = deployment(account, existing_bucket=BUCKET, existing_repository="images")
    assert next(data_set_fits_on_lustre(of_both)).state == "ok"
    assert next(images_are_in_ecr(of_both)).actual == "images has no image"
