"""The security group that EFA needs."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from training_cluster.checks import valid_vpc
from training_cluster.network.security_group_rules import allow_all
from training_workloads.validation import check

__all__ = ["EfaSecurityGroup"]

_DESCRIPTION = "EFA: all traffic between the nodes of the group"


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
