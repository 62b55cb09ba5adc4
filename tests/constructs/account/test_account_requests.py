import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.account.account_requests import Account
from training_workloads.aws.errors import AwsError, NoPermissionError, RejectionError, UnreachableError
from training_workloads.aws.session import AwsSession


@pytest.mark.parametrize(
    ("service", "operation", "request_", "message", "action"),
    [
        ("ec2", "describe_vpcs", {}, "You are not authorized to perform this operation.", "ec2:DescribeVpcs"),
        ("ec2", "describe_vpcs", {}, "User: a is not authorized to perform: ec2:DescribeVpcs on *", "ec2:DescribeVpcs"),
        (
            "service-quotas",
            "get_service_quota",
            {"ServiceCode": "ec2", "QuotaCode": "L-417A185B"},
            "",
            "servicequotas:GetServiceQuota",
        ),
        ("s3", "list_objects_v2", {"Bucket": "bucket"}, "", "s3:ListBucket"),
        ("efs", "describe_file_systems", {}, "", "elasticfilesystem:DescribeFileSystems"),
    ],
)
def test_a_missing_permission_is_named_as_in_iam(
    service: str, operation: str, request_: dict[str, str], message: str, action: str
) -> None:
    account = StubbedAccount()
    account.forbid(service, operation, message)
    with pytest.raises(NoPermissionError) as raised:
        account.ask(service, operation, **request_)
    assert str(raised.value) == f"your role may not {action}; allow the action {action}"


def test_ec2_has_another_word_for_it() -> None:
    account = StubbedAccount()
    account.forbid("ec2", "describe_vpcs", code="UnauthorizedOperation")
    with pytest.raises(NoPermissionError):
        account.all("ec2", "describe_vpcs", "Vpcs")


def test_a_rejection_keeps_the_words_of_the_service() -> None:
    account = StubbedAccount()
    account.forbid("eks", "describe_cluster", "No cluster found", code="ResourceNotFoundException")
    with pytest.raises(RejectionError, match=r"DescribeCluster \(ResourceNotFoundException\): No cluster") as raised:
        account.ask("eks", "describe_cluster", name="x")
    assert raised.value.code == "ResourceNotFoundException"


@pytest.mark.parametrize("error", [EndpointConnectionError, ReadTimeoutError])
def test_a_service_that_does_not_answer_is_named(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    account = StubbedAccount()
    client = account.stubs.client("fsx")

    def fail(**_: object) -> None:
        raise error(endpoint_url="https://fsx.us-west-2.amazonaws.com")  # type: ignore[call-arg]

    monkeypatch.setattr(client, "describe_file_systems", fail)
    with pytest.raises(UnreachableError, match="fsx cannot be reached: "):
        account.ask("fsx", "describe_file_systems")


def test_requests_have_time_limits() -> None:
    config = StubbedAccount().stubs.client("ec2").meta.config
    assert (config.connect_timeout, config.read_timeout) == (10, 30)
    assert config.retries == {"total_max_attempts": 3, "mode": "standard"}


def test_without_a_region_there_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "111122223333")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(AwsError, match="no region of AWS is set"):
        _ = Account(AwsSession()).region


def test_expired_credentials_are_one_error() -> None:
    account = StubbedAccount()
    account.forbid("sts", "get_caller_identity", code="ExpiredToken")
    with pytest.raises(AwsError, match=r"AWS does not accept your credentials \(ExpiredToken\); log in"):
        _ = account.identity
