from collections.abc import Iterator

import pytest

from tests.workloads.aws.stubbed_session import DIGEST, PASSWORD, REPOSITORY, StubbedSession
from training_workloads.aws.session import AwsSession, new_tag, repository_address
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


def test_a_tag_is_one_of_ecr() -> None:
    assert new_tag().replace("t", "").replace("z", "").isdigit()


@pytest.mark.parametrize(("other", "region"), [("eu-west-1", "eu-west-1"), ("", "us-east-2")])
def test_the_region_is_that_of_the_aws_cli(monkeypatch: pytest.MonkeyPatch, other: str, region: str) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    monkeypatch.setenv("AWS_REGION", other)
    assert AwsSession().client("sagemaker").meta.region_name == region
