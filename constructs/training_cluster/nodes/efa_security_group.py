"""The security group that EFA needs."""

from typing import cast

from aws_cdk import Annotations, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import Vpc
from training_cluster.network.security_group_rules import allow_all
from training_workloads.keywords import checked

__all__ = ["EfaSecurityGroup", "cluster_efa_group"]

_DESCRIPTION = "EFA: all traffic between the nodes of the cluster"


class EfaSecurityGroup(ec2.SecurityGroup):
    """A security group that allows all traffic from and to itself, and to everywhere else.

    EFA's traffic bypasses the IP stack, so that a rule for 0.0.0.0/0 does not cover it: the rule must name the group.
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, vpc: Vpc) -> None:
        """Define the group in the VPC of the nodes.

        Raises:
            InputError: `vpc` is not a VPC.
        """
        super().__init__(scope, id, vpc=vpc, description=_DESCRIPTION, allow_all_outbound=True)
        allow_all(self, "FromItself", "ToItself", group=self, peer=self, description=_DESCRIPTION)


class _FirstGroup(Construct):
    """A mark in the app: a stack has made the group of an imported cluster."""

    def __init__(self, scope: Construct, id: str, *, path: str) -> None:
        super().__init__(scope, id)
        self.path = path


def cluster_efa_group(cluster: eks.ICluster | eks.Cluster) -> ec2.SecurityGroup:
    """Return the group of all EFA interfaces in a cluster; the first call defines it.

    One for all node groups: nodes with different groups could not reach each other, and a job can span node groups.
    """
    scope, id = _place(cluster)
    if group := scope.node.try_find_child(id):
        return cast(ec2.SecurityGroup, group)
    made = EfaSecurityGroup(scope, id, vpc=cluster.vpc)
    if not isinstance(cluster, eks.Cluster):
        _warn_of_another_stack(made, cluster.cluster_name)
    return made


def _warn_of_another_stack(group: EfaSecurityGroup, cluster_name: str) -> None:
    """Warn where another stack of the app has imported the cluster too, and made a group for EFA."""
    root, stack = cast(Construct, group.node.root), Stack.of(group)
    id = f"EFA of {cluster_name} in {stack.account} {stack.region}"
    first = root.node.try_find_child(id)
    if not isinstance(first, _FirstGroup):
        _FirstGroup(root, id, path=group.node.path)
        return
    text = (
        f"two stacks import the cluster {cluster_name!r}, and each makes a security group for EFA; {first.path} is the "
        "first: nodes of one cannot reach those of the other with EFA. Give the node groups of this stack the first "
        "one's, as efa_security_group=first.efa_security_group"
    )
    Annotations.of(group).add_warning_v2("cdk-training-cluster:two-efa-groups", text)


def _place(cluster: eks.ICluster | eks.Cluster) -> tuple[Construct, str]:
    """Return the scope and the id of a cluster's group."""
    if isinstance(cluster, eks.Cluster):
        return cluster, "EfaSecurityGroup"
    # A cluster can be imported twice, and jsii does not know that CDK's import is a construct.
    name = cluster.node.addr if Token.is_unresolved(cluster.cluster_name) else cluster.cluster_name
    return Stack.of(cluster), f"EfaSecurityGroup of {name}"
