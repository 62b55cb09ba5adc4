"""Requests to the user's account, each with a time limit."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from threading import Lock
from typing import Any, Literal

from training_workloads.aws.errors import RejectionError, aws_errors
from training_workloads.aws.session import AwsSession

__all__ = ["Account"]


class Account:
    """The account and the region of the user's credentials; its methods may be called in several threads.

    A request names the service and the operation as boto3 does, and gives its parameters as keywords. It raises an
    AwsError where it fails; see `training_workloads.aws.errors`.
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

    @property
    def number(self) -> str:
        """The account's number, of 12 digits.

        Raises:
            AwsError: As for `identity`.
        """
        return self.identity.split(":")[4]

    @cached_property
    def region(self) -> str:
        """The region."""
        with aws_errors():
            return str(self._client("ec2").meta.region_name)

    def ask(self, service: str, operation: str, *, region: str | None = None, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer; the region is by default that of the account."""
        with aws_errors(service):
            return dict(getattr(self._client(service, region), operation)(**request))

    def find(
        self, service: str, operation: str, absent: str | tuple[str, ...], *, region: str | None = None, **request: Any
    ) -> dict[str, Any] | None:
        """Return the answer; None where the service rejects the request with a code that begins like `absent`."""
        try:
            return self.ask(service, operation, region=region, **request)
        except RejectionError as error:
            if not error.code.startswith(absent):
                raise
            return None

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Yield the answers of a request that has several pages."""
        with aws_errors(service):
            yield from self._client(service).get_paginator(operation).paginate(**request)

    def all(self, service: str, operation: str, key: str, **request: Any) -> list[Any]:
        """Return the items of every page, which the answers have under a key."""
        return [each for page in self.pages(service, operation, **request) for each in page.get(key, ())]

    def parameter(self, name: str) -> str | None:
        """Return the value of a parameter of Systems Manager, such as a published version; None if there is none."""
        found = self.find("ssm", "get_parameter", "ParameterNotFound", Name=name)
        return str(found["Parameter"]["Value"]) if found else None

    def newest_metric(
        self,
        namespace: str,
        name: str,
        dimensions: Mapping[str, str],
        *,
        statistic: Literal["Average", "Maximum", "Sum"],
        period: timedelta,
        within: timedelta,
    ) -> float | None:
        """Return the newest value of a metric in CloudWatch; None where there is none.

        Args:
            namespace: The service's name of its metrics, such as AWS/FSx.
            name: The metric.
            dimensions: Which resource it is about.
            statistic: How CloudWatch makes one value of the samples of a period.
            period: How often there is a value.
            within: How old it may be.
        """
        now = datetime.now(UTC)
        found = self.ask(
            "cloudwatch",
            "get_metric_statistics",
            Namespace=namespace,
            MetricName=name,
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
            StartTime=now - within,
            EndTime=now,
            Period=int(period.total_seconds()),
            Statistics=[statistic],
        )["Datapoints"]
        newest = max(found, key=lambda each: each["Timestamp"], default=None)
        return None if newest is None else float(newest[statistic])

    def _client(self, service: str, region: str | None = None) -> Any:
        # A session of boto3 creates one client at a time; a client itself serves every thread.
        with self._lock:
            if (service, region) not in self._clients:
                self._clients[service, region] = self._session.client(service, region)
            return self._clients[service, region]
