"""Log groups of a stack: a group that a service makes keeps its lines for ever, and stays when the cluster goes."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.suppressions import suppress_services_log_key

__all__ = ["log_group"]


def log_group(
    scope: Construct,
    id: str,
    *,
    key: kms.IKey | None,
    name: str | None = None,
    retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
    removal_policy: RemovalPolicy = RemovalPolicy.DESTROY,
) -> logs.LogGroup:
    """Define a group, by default one that goes with its stack: a cluster of each morning would leave one each evening.

    Without a key of the user the lines have one of CloudWatch Logs.
    """
    group = logs.LogGroup(
        scope, id, log_group_name=name, retention=retention, encryption_key=key, removal_policy=removal_policy
    )
    if key is None:
        suppress_services_log_key(group)
    return group
