"""Requests to the user's account, each with a time limit."""

from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import Any

from training_workloads.aws.errors import aws_errors
from training_workloads.aws.session import AwsSession

__all__ = ["Account"]


class Account:
    """The account and the region of the user's credentials; its methods may be called in several threads.

    Every request raises an AwsError where it fails; see `training_workloads.aws.errors`.
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
            AwsError: There are no valid credentials, there is no region, or AWS cannot be reached.
        """
        return str(self.ask("sts", "get_caller_identity")["Arn"])

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
        with aws_errors(service):
            return dict(getattr(self._client(service, region), operation)(**request))

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Yield the answers of a request that has several pages.

        Args:
            service: The service, as boto3 names it.
            operation: The method of boto3's client.
            request: Its parameters.
        """
        with aws_errors(service):
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
