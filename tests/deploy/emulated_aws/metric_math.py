"""Alarms on metric math, which the emulator rejects."""

from typing import Any

from ministack.core.responses import get_account_id, get_region
from ministack.services import cloudwatch
from ministack.services.cloudformation import provisioners

plain_record = provisioners._cw_metric_alarm_record


def record(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return an alarm as DescribeAlarms shows it."""
    if "Metrics" not in properties:
        alarm: dict[str, Any] = plain_record(name, properties)
        return alarm
    # All but the metrics is as in an alarm on one metric.
    one = properties | {"MetricName": "none", "Namespace": "none"}
    del one["Metrics"]
    alarm = plain_record(name, one)
    for field in ("MetricName", "Namespace", "Statistic", "Period", "ExtendedStatistic", "Dimensions", "Unit"):
        del alarm[field]
    return alarm | {"Metrics": properties["Metrics"]}


def delete(name: str, properties: dict[str, Any]) -> None:
    """Delete an alarm that must exist."""
    if name not in cloudwatch._alarms:
        raise ValueError(f"no alarm '{name}' in {get_region()} of {get_account_id()}")
    plain_delete(name, properties)


plain_delete = provisioners._cw_metric_alarm_delete
provisioners._cw_metric_alarm_record = record
provisioners._RESOURCE_HANDLERS["AWS::CloudWatch::Alarm"]["delete"] = delete
