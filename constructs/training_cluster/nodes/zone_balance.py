"""The end of the zones' balance: EC2 Auto Scaling no longer ends a node in order to start another in another zone.

Why so, and not a node group for each zone: docs/adr/0035-the-zones-of-system-nodes-are-not-balanced.md.
"""

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import custom_resources as cr
from constructs import Construct

from training_cluster.log_group import own_logs
from training_cluster.suppressions import (
    children_of_type,
    suppress,
    suppress_cdks_function,
    suppress_implied_dependency,
    suppress_policy,
    suppress_wildcard,
)

__all__ = ["UnbalancedZones"]

# https://docs.aws.amazon.com/autoscaling/ec2/userguide/suspend-processes.html
_PROCESS = "AZRebalance"

# Where EKS's answer has the name of the Auto Scaling group.
_NAME = "nodegroup.resources.autoScalingGroups.0.name"

# CDK's function that calls AWS, one in a stack.
_CALLS_AWS = "AWS679f53fac002430cb0da5b7982bd2287"


class UnbalancedZones(Construct):
    """Suspends AZRebalance in the Auto Scaling group behind an EKS node group."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        node_group: eks.Nodegroup,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Define the calls.

        Args:
            cluster: The cluster of the node group.
            node_group: The node group.
            encryption_key: Key of the log of the calls. Default: CloudWatch's own.
        """
        super().__init__(scope, id)
        resource = node_group.node.default_child
        assert isinstance(resource, eks.CfnNodegroup)
        # CDK's `nodegroup_name` has the cluster's name before it, unless the app sets a feature flag.
        names = {"clusterName": cluster.cluster_name, "nodegroupName": resource.attr_nodegroup_name}
        groups = Stack.of(cluster).format_arn(
            service="eks", resource="nodegroup", resource_name=f"{cluster.cluster_name}/*"
        )
        reading = iam.PolicyStatement(actions=["eks:DescribeNodegroup"], resources=[groups])
        found = self._call("Group", reading, "EKS", "DescribeNodegroup", names, output_paths=[_NAME])
        # EKS puts this tag on the Auto Scaling groups of its node groups.
        of_this_cluster = {"StringEquals": {"aws:ResourceTag/eks:cluster-name": cluster.cluster_name}}
        suspending = iam.PolicyStatement(
            actions=["autoscaling:SuspendProcesses"], resources=["*"], conditions=of_this_cluster
        )
        request = {"AutoScalingGroupName": found.get_response_field(_NAME), "ScalingProcesses": [_PROCESS]}
        self._call("Suspended", suspending, "AutoScaling", "SuspendProcesses", request)
        provider = Stack.of(self).node.find_child(_CALLS_AWS)
        assert isinstance(provider, Construct)
        own_logs(provider, encryption_key)
        self._suppress_findings(provider, groups)

    def _call(
        self, id: str, allowed: iam.PolicyStatement, service: str, action: str, request: dict[str, Any], **options: Any
    ) -> cr.AwsCustomResource:
        """Define a call that CloudFormation makes when the request is new; none at the deletion."""
        call = cr.AwsSdkCall(
            service=service,
            action=action,
            parameters=request,
            physical_resource_id=cr.PhysicalResourceId.of(f"{self.node.addr}-{id}"),
            **options,
        )
        policy = cr.AwsCustomResourcePolicy.from_statements([allowed])
        # CDK makes the call of `on_update` at the creation too.
        return cr.AwsCustomResource(self, id, on_update=call, policy=policy, install_latest_aws_sdk=False)

    def _suppress_findings(self, provider: Construct, groups: str) -> None:
        suppress_wildcard(self, "reads no data, and changes only groups with the tag of this cluster", "*", groups)
        suppress_policy(provider, "logs of CDK's function", "service-role/AWSLambdaBasicExecutionRole")
        for function in children_of_type(provider, "AWS::Lambda::Function"):
            suppress_cdks_function(function, "CKV_AWS_115", "CKV_AWS_116", "CKV_AWS_117")
            suppress(function, "CDK chooses the runtime that its code is written for", "AwsSolutions-L1")
            suppress_implied_dependency(function)
