"""AWS as botocore's stubs answer for it: a request with other parameters than expected is an error."""

import base64
from functools import cache
from typing import Any

import boto3
from botocore.stub import Stubber

from training_workloads.aws.session import AwsSession

REGION = "us-west-2"
REPOSITORY = f"111122223333.dkr.ecr.{REGION}.amazonaws.com/images"
DIGEST = f"sha256:{'a' * 64}"
PASSWORD = "of-12-hours"
OUTPUTS = {"ImageSourceBucket": "sources", "ImageBuildProject": "project", "ImageRepositoryUri": REPOSITORY}


@cache
def session(region: str = REGION) -> boto3.Session:
    """Return a session with credentials. All tests share it: each reads the models of its services, 0.3 s for EC2."""
    return boto3.Session("111122223333", "secret", region_name=region)


class StubbedSession(AwsSession):
    """A session whose requests are answered in the order in which a test gives the answers."""

    def __init__(self, region: str = REGION) -> None:
        self._session = session(region)
        self._clients: dict[str, Any] = {}
        self.stubs: dict[str, Stubber] = {}

    def client(self, service: str, region: str | None = None) -> Any:
        if service not in self._clients:
            self._clients[service] = super().client(service, region)
            self.stubs[service] = Stubber(self._clients[service])
            self.stubs[service].activate()
        return self._clients[service]

    def answer(self, service: str, request: str, response: dict[str, Any], expected: Any = None) -> None:
        self.client(service)
        self.stubs[service].add_response(request, response, expected)

    def reject(self, service: str, request: str, code: str, message: str = "") -> None:
        self.client(service)
        self.stubs[service].add_client_error(request, code, message)

    def answer_stack(self, outputs: dict[str, str] = OUTPUTS) -> None:
        pairs = [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()]
        stack = {
            "StackName": "TrainingDataStack",
            "CreationTime": 0,
            "StackStatus": "CREATE_COMPLETE",
            "Outputs": pairs,
        }
        self.answer("cloudformation", "describe_stacks", {"Stacks": [stack]}, {"StackName": "TrainingDataStack"})

    def answer_push(self, tag: str) -> None:
        name = {"repositoryName": "images"}
        self.answer("ecr", "describe_repositories", {"repositories": [name]}, {"repositoryNames": ["images"]})
        token = base64.b64encode(f"AWS:{PASSWORD}".encode()).decode()
        self.answer("ecr", "get_authorization_token", {"authorizationData": [{"authorizationToken": token}]})
        self.answer_digest(tag)

    def answer_digest(self, tag: str) -> None:
        expected = {"repositoryName": "images", "imageIds": [{"imageTag": tag}]}
        self.answer("ecr", "describe_images", {"imageDetails": [{"imageDigest": DIGEST}]}, expected)

    def all_asked(self) -> None:
        for stub in self.stubs.values():
            stub.assert_no_pending_responses()
