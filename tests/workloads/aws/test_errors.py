from collections.abc import Iterator

import pytest
from botocore import exceptions
from botocore.parsers import ResponseParserError

from tests.workloads.aws.stubbed_session import StubbedSession
from training_workloads.aws.errors import AwsError, RequestError, aws_errors
from training_workloads.aws.session import AwsSession


@pytest.fixture
def session() -> Iterator[StubbedSession]:
    stubbed = StubbedSession()
    yield stubbed
    stubbed.all_asked()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (exceptions.NoCredentialsError(), r"no credentials of AWS are found \(.*\); log in \('aws sso login'"),
        (exceptions.ProfileNotFound(profile="p"), r"no credentials of AWS are found \(.*\(p\).*\); log in"),
        (exceptions.NoRegionError(), "no region of AWS is set; set AWS_REGION"),
        (exceptions.EndpointConnectionError(endpoint_url="u"), "AWS cannot be reached: "),
        (ResponseParserError("Unable to parse response: <html>"), "AWS cannot be reached: .*<html>"),
    ],
)
def test_errors_of_boto3_are_in_the_users_words(error: Exception, message: str) -> None:
    with pytest.raises(AwsError, match=message), aws_errors():
        raise error


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ExpiredToken", r"AWS does not accept your credentials \(ExpiredToken\); log in"),
        ("AccessDeniedException", "your role may not DescribeStacks; allow the action DescribeStacks"),
        ("Throttling", r"AWS rejects DescribeStacks \(Throttling\): no$"),
    ],
)
def test_a_rejected_request_is_named(session: StubbedSession, code: str, message: str) -> None:
    session.reject("cloudformation", "describe_stacks", code, "no")
    with pytest.raises(AwsError, match=message), aws_errors():
        session.outputs("TrainingDataStack")


def test_without_credentials_no_request_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    with pytest.raises(AwsError, match="no credentials of AWS are found"), aws_errors():
        AwsSession().outputs("TrainingDataStack")


@pytest.mark.parametrize(("code", "stops"), [("ExpiredToken", True), ("AccessDenied", False), ("Throttling", False)])
def test_other_requests_may_succeed_unless_the_credentials_are_invalid(
    session: StubbedSession, code: str, stops: bool
) -> None:
    session.reject("cloudformation", "describe_stacks", code, "no")
    with pytest.raises(AwsError) as raised, aws_errors("cloudformation"):
        session.outputs("TrainingDataStack")
    assert isinstance(raised.value, RequestError) is not stops
