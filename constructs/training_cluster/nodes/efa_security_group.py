"""The security group that EFA needs."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

__all__ = ["EfaSecurityGroup"]


class EfaSecurityGroup(Construct):
    """A security group that allows all traffic from and to itself, and to everywhere else.

    EFA's traffic bypasses the IP stack, so that a rule for 0.0.0.0/0 does not cover it: the rule must name the group.
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html

    Attributes:
        security_group: The group.
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc) -> None:
        """Defines the group.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            vpc: The VPC of the nodes.
        """
        super().__init__(scope, id)
        description = "EFA: all traffic between the nodes of the group"
        self.security_group = ec2.SecurityGroup(
            self, "Resource", vpc=vpc, description=description, allow_all_outbound=True
        )
        # On the L1: an L2 group with open egress drops the self-referencing egress rule as redundant, which it is not.
        group_id = self.security_group.security_group_id
        ec2.CfnSecurityGroupIngress(
            self,
            "FromItself",
            group_id=group_id,
            ip_protocol="-1",
            source_security_group_id=group_id,
            description=description,
        )
        ec2.CfnSecurityGroupEgress(
            self,
            "ToItself",
            group_id=group_id,
            ip_protocol="-1",
            destination_security_group_id=group_id,
            description=description,
        )
