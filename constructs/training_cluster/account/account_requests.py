"""Requests to the user's account, each with a time limit, and what can fail: no permission, no answer, a rejection."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import Any

from training_workloads.images.aws_session import AwsSession, aws_errors

__all__ = ["Account", "NoPermissionError", "RejectionError", "UnreachableError"]

_FORBIDDEN = re.compile(r"AccessDenied|Unauthorized|Forbidden|^403$")

# How most services name the action in their message.
_ACTION = re.compile(r"to perform:? ([\w-]+:\w+)")

# Where the name of the API, or of the operation, is not that of IAM:
# https://docs.aws.amazon.com/service-authorization/latest/reference/
_PREFIXES = {"service-quotas": "servicequotas", "efs": "elasticfilesystem"}
_ACTIONS = {"s3:ListObjectsV2": "s3:ListBucket"}


class NoPermissionError(Exception):
    """The user's role does not have a permission.

    Attributes:
        action: The IAM action, such as `ec2:DescribeSubnets`.
    """

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


class UnreachableError(Exception):
    """A service does not answer."""


class RejectionError(Exception):
    """A service rejects a request.

    Attributes:
        code: The service's word for the reason.
    """

    def __init__(self, operation: str, code: str, message: str) -> None:
        super().__init__(f"AWS rejects {operation} ({code}): {message}")
        self.code = code


class Account:
    """The account and the region of the user's credentials; its methods may be called in several threads.

    Every request raises NoPermissionError, UnreachableError or RejectionError where it fails.
    """

    def __init__(self, session: AwsSession | None = None) -> None:
        """Take the session; default: one with the credentials of the environment or of the profile."""
        self._given, self._lock, self._clients = session, Lock(), dict[tuple[str, str | None], Any]()

    @cached_property
    def _session(self) -> AwsSession:
        with aws_errors():
            return self._given or AwsSession()

    @cached_property
    def identity(self) -> str:
        """Who the user is, as an ARN.

        Raises:
            ImageError: There are no valid credentials, there is no region, or AWS cannot be reached.
        """
        with aws_errors():
            return str(self._client("sts").get_caller_identity()["Arn"])

    @cached_property
    def region(self) -> str:
        """The region."""
        with aws_errors():
            return str(self._client("ec2").meta.region_name)

    def ask(self, service: str, operation: str, *, region: str | None = None, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer.

        Args:
            service: The service, as boto3 names it.
            operation: The method of boto3's client.
            region: Default: that of the account.
            request: Its parameters.
        """
        with _failures(service):
            return dict(getattr(self._client(service, region), operation)(**request))

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Yield the answers of a request that has several pages.

        Args:
            service: The service, as boto3 names it.
            operation: The method of boto3's client.
            request: Its parameters.
        """
        with _failures(service):
            yield from self._client(service).get_paginator(operation).paginate(**request)

    def all(self, service: str, operation: str, key: str, **request: Any) -> list[Any]:
        """Return the items of every page.

        Args:
            service: The service, as boto3 names it.
            operation: The method of boto3's client.
            key: The answer's name of the items.
            request: The parameters.
        """
        return [each for page in self.pages(service, operation, **request) for each in page.get(key, ())]

    def _client(self, service: str, region: str | None = None) -> Any:
        # A session of boto3 creates one client at a time; a client itself serves every thread.
        with self._lock:
            if (service, region) not in self._clients:
                self._clients[service, region] = self._session.client(service, region)
            return self._clients[service, region]


@contextmanager
def _failures(service: str) -> Iterator[None]:
    from botocore import exceptions

    try:
        yield
    except exceptions.ClientError as error:
        reason = error.response.get("Error", {})
        code, message = str(reason.get("Code", "")), str(reason.get("Message", ""))
        if _FORBIDDEN.search(code):
            raise NoPermissionError(_action(service, error.operation_name, message)) from error
        raise RejectionError(error.operation_name, code, message) from error
    except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
        raise UnreachableError(f"{service} cannot be reached: {error}") from error


def _action(service: str, operation: str, message: str) -> str:
    if match := _ACTION.search(message):
        return match[1]
    action = f"{_PREFIXES.get(service, service)}:{operation}"
    return _ACTIONS.get(action, action)
