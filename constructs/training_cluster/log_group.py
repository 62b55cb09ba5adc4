"""Log groups of a stack: a group that a service makes keeps its lines for ever, and stays when the cluster goes."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.suppressions import children_of_type, suppress_services_log_key

__all__ = ["log_group", "own_logs"]

# Days for which the lines of CDK's functions are kept, and the id of CDK's log groups.
_KEPT_DAYS = 30
_CDKS_ID = "LogGroup"


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


def own_logs(provider: Construct, encryption_key: kms.IKey | None) -> None:
    """Give each of CDK's functions in a construct a log group of the stack, in any app.

    Without one Lambda makes it, with no retention, and no destroyed stack deletes it. CDK defines groups only in an app
    with the feature flag `@aws-cdk/aws-lambda:useCdkManagedLogGroup`; these have the same ids. CDK's have the name of
    the function, and so are made after it and deleted before it: a last call of the function would leave another.
    """
    for function in children_of_type(provider, "AWS::Lambda::Function"):
        scope = function.node.scope
        assert isinstance(scope, Construct)
        group = scope.node.try_find_child(_CDKS_ID) or logs.LogGroup(scope, _CDKS_ID)
        resource = group.node.default_child
        assert isinstance(resource, logs.CfnLogGroup)
        resource.log_group_name = None
        resource.retention_in_days = _KEPT_DAYS
        resource.apply_removal_policy(RemovalPolicy.DESTROY)
        if encryption_key:
            resource.kms_key_id = encryption_key.key_arn
        else:
            suppress_services_log_key(resource)
        # Beside the settings that CDK gives some of them.
        function.add_property_override("LoggingConfig.LogGroup", resource.ref)
