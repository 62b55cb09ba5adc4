"""The newest value of a metric in CloudWatch."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal

from training_cluster.account.account_requests import Account

__all__ = ["newest_metric"]


def newest_metric(
    account: Account,
    namespace: str,
    name: str,
    dimensions: Mapping[str, str],
    *,
    statistic: Literal["Average", "Maximum", "Sum"],
    period: timedelta,
    within: timedelta,
) -> float | None:
    """Return the newest value; None where there is none.

    Args:
        account: The account.
        namespace: The service's name of its metrics, such as AWS/FSx.
        name: The metric.
        dimensions: Which resource it is about.
        statistic: How CloudWatch makes one value of the samples of a period.
        period: How often there is a value.
        within: How old it may be.
    """
    now = datetime.now(UTC)
    found = account.ask(
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
