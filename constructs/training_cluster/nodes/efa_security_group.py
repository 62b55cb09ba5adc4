"""The security group that EFA needs."""

from typing import Any

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from training_cluster.checks import valid_vpc
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
        group_id = self.security_group_id
        itself: dict[str, Any] = {"group_id": group_id, "ip_protocol": "-1", "description": _DESCRIPTION}
        # On the L1: an L2 group with open egress drops the self-referencing egress rule as redundant, which it is not.
        ec2.CfnSecurityGroupIngress(self, "FromItself", source_security_group_id=group_id, **itself)
        ec2.CfnSecurityGroupEgress(self, "ToItself", destination_security_group_id=group_id, **itself)
