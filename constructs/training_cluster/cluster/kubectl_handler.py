"""The parts that CDK adds to run kubectl and Helm in a cluster: two Lambda functions, their roles and log groups."""

from aws_cdk import Aws, CfnCondition, Fn, RemovalPolicy
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.suppressions import (
    children_of_type,
    suppress,
    suppress_cdks_function,
    suppress_implied_dependency,
    suppress_policy,
    suppress_policy_arn,
    suppress_services_log_key,
    suppress_wildcard,
)

__all__ = ["own_logs", "secure_kubectl"]

_PUBLIC_REGISTRY = "AmazonElasticContainerRegistryPublicReadOnly"
_LOGS_KEPT_DAYS = 30
_LOG_GROUP = "LogGroup"
_ROLES = ("AWSLambdaBasicExecutionRole", "AWSLambdaVPCAccessExecutionRole")


def secure_kubectl(cluster: eks.Cluster, encryption_key: kms.IKey | None) -> None:
    """Encrypt the logs of kubectl's functions, and suppress the findings on CDK's code.

    Args:
        cluster: A cluster with a kubectl provider.
        encryption_key: Key of the log groups. Default: a key of CloudWatch Logs.
    """
    provider = cluster.node.find_child("KubectlProvider")
    assert isinstance(provider, Construct)
    own_logs(provider, encryption_key)
    _suppress_functions(provider)
    _suppress_roles(provider)


def own_logs(provider: Construct, encryption_key: kms.IKey | None) -> None:
    """Give each function of a kubectl provider a log group of the stack, in any app.

    Without one Lambda makes it, with no retention, and no destroyed stack deletes it. CDK defines groups only in an app
    with the feature flag `@aws-cdk/aws-lambda:useCdkManagedLogGroup`; these have the same ids. CDK's have the name of
    the function, and so are made after it and deleted before it: a last call of the function would leave another.

    Args:
        provider: The kubectl provider.
        encryption_key: Key of the log groups. Default: a key of CloudWatch Logs.
    """
    for function in children_of_type(provider, "AWS::Lambda::Function"):
        scope = function.node.scope
        assert isinstance(scope, Construct)
        group = scope.node.try_find_child(_LOG_GROUP) or logs.LogGroup(scope, _LOG_GROUP)
        resource = group.node.default_child
        assert isinstance(resource, logs.CfnLogGroup)
        resource.log_group_name = None
        resource.retention_in_days = _LOGS_KEPT_DAYS
        resource.apply_removal_policy(RemovalPolicy.DESTROY)
        if encryption_key:
            resource.kms_key_id = encryption_key.key_arn
        else:
            suppress_services_log_key(resource)
        # Beside the settings that CDK gives some of them.
        function.add_property_override("LoggingConfig.LogGroup", resource.ref)


def _suppress_functions(provider: Construct) -> None:
    for function in children_of_type(provider, "AWS::Lambda::Function"):
        suppress_cdks_function(function, "CKV_AWS_115", "CKV_AWS_116")
        suppress(function, "holds a setting and the name of the other function, no secret", "CKV_AWS_173")
        suppress(function, "CDK chooses the runtime that its code is written for", "AwsSolutions-L1")
        suppress_implied_dependency(function)


def _suppress_roles(provider: Construct) -> None:
    suppress_policy(
        provider, "logs and network interfaces of a function in a VPC", *(f"service-role/{role}" for role in _ROLES)
    )
    suppress_policy(provider, "CDK's function pulls Helm charts from ECR", "AmazonEC2ContainerRegistryReadOnly")
    handler = provider.node.find_child("Handler")
    assert isinstance(handler, lambda_.Function)
    suppress_wildcard(provider, "every version of one function", f"{handler.function_arn}:*")
    condition = handler.node.find_child("HasEcrPublic")
    assert isinstance(condition, CfnCondition)
    policy = f"arn:{Aws.PARTITION}:iam::aws:policy/{_PUBLIC_REGISTRY}"
    in_one_partition = Fn.condition_if(condition.logical_id, policy, Aws.NO_VALUE).to_string()
    suppress_policy_arn(provider, "CDK's function pulls Helm charts from the public registry", in_one_partition)
