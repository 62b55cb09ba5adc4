from collections.abc import Iterator

import pytest
from botocore import exceptions

from tests.workloads.images.stubbed_session import DIGEST, PASSWORD, REPOSITORY, StubbedSession
from training_workloads.images.aws_session import AwsSession, aws_errors, new_tag, repository_address
from training_workloads.images.image_error import ImageError
from training_workloads.validation import InputError


@pytest.fixture
def session() -> Iterator[StubbedSession]:
    stubbed = StubbedSession()
    yield stubbed
    stubbed.all_asked()


def test_the_repository_is_an_output_of_the_stack(session: StubbedSession) -> None:
    session.answer_stack()
    assert session.output("TrainingDataStack", "ImageRepositoryUri") == REPOSITORY


def test_a_stack_of_an_older_version_has_no_project(session: StubbedSession) -> None:
    session.answer_stack({"BucketName": "bucket"})
    with pytest.raises(InputError, match="it has no output ImageBuildProject; deploy it again"):
        session.output("TrainingDataStack", "ImageBuildProject")


def test_a_stack_that_does_not_exist_is_named_with_the_region(session: StubbedSession) -> None:
    session.reject("cloudformation", "describe_stacks", "ValidationError", "Stack with id Data does not exist")
    with pytest.raises(
        InputError, match="'stack' is 'Data', but this account has no such stack in us-west-2; deploy it"
    ):
        session.output("Data", "BucketName")


def test_a_repository_that_does_not_exist_is_named(session: StubbedSession) -> None:
    session.reject("ecr", "describe_repositories", "RepositoryNotFoundException")
    with pytest.raises(InputError, match="the registry has no such repository; deploy TrainingDataStack"):
        session.require(REPOSITORY)


def test_password_and_digest_are_those_of_the_registry(session: StubbedSession) -> None:
    session.answer_push("tag")
    session.require(REPOSITORY)
    assert session.password(REPOSITORY) == PASSWORD
    assert session.address(REPOSITORY, "tag") == f"{REPOSITORY}@{DIGEST}"


@pytest.mark.parametrize("wrong", ["images", f"{REPOSITORY}:1", "docker.io/library/images", ""])
def test_another_address_than_that_of_a_repository_is_rejected(wrong: str) -> None:
    assert repository_address(REPOSITORY) == REPOSITORY
    with pytest.raises(InputError, match="give the address of a repository in ECR without a tag"):
        repository_address(wrong)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (exceptions.NoCredentialsError(), r"AWS has no credentials of you \(.*\); log in \('aws sso login'"),
        (exceptions.ProfileNotFound(profile="p"), r"AWS has no credentials of you \(.*\(p\).*\); log in"),
        (exceptions.NoRegionError(), "no region of AWS is set; set AWS_REGION"),
        (exceptions.EndpointConnectionError(endpoint_url="u"), "AWS cannot be reached: "),
    ],
)
def test_errors_of_boto3_are_in_the_users_words(error: Exception, message: str) -> None:
    with pytest.raises(ImageError, match=message), aws_errors():
        raise error


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ExpiredToken", r"AWS does not accept your credentials \(ExpiredToken\); log in"),
        ("AccessDeniedException", r"AWS rejects DescribeStacks \(AccessDeniedException\): no; ask an administrator"),
        ("Throttling", r"AWS rejects DescribeStacks \(Throttling\): no$"),
    ],
)
def test_a_rejected_request_is_named(session: StubbedSession, code: str, message: str) -> None:
    session.reject("cloudformation", "describe_stacks", code, "no")
    with pytest.raises(ImageError, match=message), aws_errors():
        session.outputs("TrainingDataStack")


def test_without_credentials_no_request_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    with pytest.raises(ImageError, match="AWS has no credentials of you"), aws_errors():
        AwsSession().outputs("TrainingDataStack")


def test_a_tag_is_one_of_ecr() -> None:
    assert new_tag().replace("t", "").replace("z", "").isdigit()
