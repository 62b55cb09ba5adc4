"""AWS with the user's credentials: the outputs of a stack, a password for ECR, the digest of a pushed image."""

import base64
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from training_workloads.validation import InputError, Problem

__all__ = ["DATA_STACK", "AwsSession", "new_tag", "repository_address"]

#: The stack that defines the repository and the project.
DATA_STACK: Final = "TrainingDataStack"

# https://docs.aws.amazon.com/AmazonECR/latest/userguide/Registries.html
_REPOSITORY = re.compile(r"\d{12}\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?/([a-z0-9._/-]+)")

# An answer takes a second; a region or a proxy that does not answer would take boto3 five minutes to report.
_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 30
_ATTEMPTS = 3


class AwsSession:
    """Requests with the user's credentials and region."""

    def __init__(self) -> None:
        # Here, because it takes half a second to import.
        import boto3

        # boto3 alone does not read it; the AWS CLI and the CDK do, before AWS_DEFAULT_REGION.
        self._session = boto3.Session(region_name=os.environ.get("AWS_REGION") or None)

    def client(self, service: str, region: str | None = None) -> Any:
        """Return a client of boto3, whose requests have a time limit."""
        from botocore.config import Config

        limits = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_ANSWER_SECONDS,
            retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        )
        return self._session.client(service, region_name=region, config=limits)

    def outputs(self, stack: str) -> Mapping[str, str]:
        """Return the outputs of a stack by name.

        Raises:
            InputError: There is no such stack.
        """
        client = self.client("cloudformation")
        try:
            (found,) = client.describe_stacks(StackName=stack)["Stacks"]
        except client.exceptions.ClientError as error:
            if "does not exist" not in str(error):
                raise
            allowed = f"this account has no such stack in {client.meta.region_name}"
            fix = "deploy it with 'cdk deploy', or set AWS_PROFILE and AWS_REGION to where it is"
            raise InputError(Problem(path=("stack",), given=stack, allowed=allowed, fix=fix)) from error
        return {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())}

    def output(self, stack: str, name: str) -> str:
        """Return one output of a stack.

        Raises:
            InputError: The stack has none of that name.
        """
        found = self.outputs(stack)
        if name not in found:
            allowed = f"it has no output {name}"
            fix = "deploy it again with this version of the library, or give the stack with the repository"
            raise InputError(Problem(path=("stack",), given=stack, allowed=allowed, fix=fix))
        return found[name]

    def password(self, repository: str) -> str:
        """Return a password for the registry of a repository, valid for 12 hours."""
        (data,) = self._ecr(repository).get_authorization_token()["authorizationData"]
        return base64.b64decode(data["authorizationToken"]).decode().partition(":")[2]

    def address(self, repository: str, tag: str) -> str:
        """Return the address of a pushed image by its digest.

        Raises:
            ClientError: There is no such repository or image; see `aws_errors`.
        """
        client, name = self._ecr(repository), repository.partition("/")[2]
        found = client.describe_images(repositoryName=name, imageIds=[{"imageTag": tag}])
        return f"{repository}@{found['imageDetails'][0]['imageDigest']}"

    def require(self, repository: str) -> None:
        """Reject a repository that does not exist: a push to it fails after the upload of a layer."""
        client, name = self._ecr(repository), repository.partition("/")[2]
        try:
            client.describe_repositories(repositoryNames=[name])
        except client.exceptions.RepositoryNotFoundException as error:
            allowed = "the registry has no such repository"
            fix = f"deploy {DATA_STACK}, whose output ImageRepositoryUri is its address"
            raise InputError(Problem(path=("repository",), given=repository, allowed=allowed, fix=fix)) from error

    def _ecr(self, repository: str) -> Any:
        match = _REPOSITORY.fullmatch(repository)
        return self.client("ecr", match[1] if match else None)


def repository_address(given: str) -> str:
    """Return the address of a repository in ECR.

    Raises:
        InputError: It is another text.
    """
    if not _REPOSITORY.fullmatch(given):
        example = "111122223333.dkr.ecr.us-west-2.amazonaws.com/images"
        fix = f"give the address of a repository in ECR without a tag, such as {example}"
        raise InputError(Problem(path=("repository",), given=given, fix=fix))
    return given


def new_tag() -> str:
    """Return a tag that was not used: the repository's tags are immutable."""
    return datetime.now(UTC).strftime("%Y%m%dt%H%M%Sz")
