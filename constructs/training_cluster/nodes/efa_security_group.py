"""The security group that EFA needs."""

from typing import cast

from aws_cdk import Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import valid_vpc
from training_cluster.network.security_group_rules import allow_all
from training_workloads.validation import check

__all__ = ["EfaSecurityGroup", "cluster_efa_group"]

_DESCRIPTION = "EFA: all traffic between the nodes of the cluster"


class EfaSecurityGroup(ec2.SecurityGroup):
    """A security group that allows all traffic from and to itself, and to everywhere else.

    EFA's traffic bypasses the IP stack, so that a rule for 0.0.0.0/0 does not cover it: the rule must name the group.
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc) -> None:
        """Define the group.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            vpc: The VPC of the nodes.

        Raises:
            InputError: `vpc` is not a VPC.
        """
        check(valid_vpc("vpc", vpc))
        super().__init__(scope, id, vpc=vpc, description=_DESCRIPTION, allow_all_outbound=True)
        allow_all(self, "FromItself", "ToItself", group=self, peer=self, description=_DESCRIPTION)


def cluster_efa_group(cluster: eks.ICluster | eks.Cluster) -> ec2.SecurityGroup:
    """Return the group of all EFA interfaces in a cluster; the first call defines it.

    One for all node groups: nodes with different groups could not reach each other, and a job can span node groups.

    Args:
        cluster: The cluster, ours or one of `aws_eks_v2`, with its VPC.
    """
    scope, id = _place(cluster)
    group = scope.node.try_find_child(id) or EfaSecurityGroup(scope, id, vpc=cluster.vpc)
    return cast(ec2.SecurityGroup, group)


def _place(cluster: eks.ICluster | eks.Cluster) -> tuple[Construct, str]:
    """Return the scope and the id of a cluster's group."""
    if isinstance(cluster, eks.Cluster):
        return cluster, "EfaSecurityGroup"
    # A cluster can be imported twice, and jsii does not know that CDK's import is a construct.
    name = cluster.node.addr if Token.is_unresolved(cluster.cluster_name) else cluster.cluster_name
    return Stack.of(cluster), f"EfaSecurityGroup of {name}"
