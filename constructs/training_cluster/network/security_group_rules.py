"""Rules of security groups, as children of the construct that needs them."""

from aws_cdk import CfnResource
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

__all__ = ["allow_all", "allow_tcp"]


def allow_tcp(
    scope: Construct, id: str, *, group: ec2.ISecurityGroup, peer: ec2.ISecurityGroup, ports: range, description: str
) -> CfnResource:
    """Define a rule that admits a peer to a group.

    It is an L1 rule: one of the L2 would stand beside the group, in the group's stack.

    Args:
        scope: Where the rule is defined.
        group: The group that is opened.
        peer: The group that connects.
        ports: TCP ports.
        description: The allowed traffic, for the rule.
    """
    return ec2.CfnSecurityGroupIngress(
        scope,
        id,
        group_id=group.security_group_id,
        source_security_group_id=peer.security_group_id,
        ip_protocol="tcp",
        from_port=ports.start,
        to_port=ports.stop - 1,
        description=description,
    )


def allow_all(
    scope: Construct,
    inward: str,
    outward: str,
    *,
    group: ec2.ISecurityGroup,
    peer: ec2.ISecurityGroup,
    description: str,
) -> list[CfnResource]:
    """Define rules for all traffic between a group and a peer, in and out, as EFA needs them.

    EFA bypasses the IP stack: only rules that name the other group cover it. An L2 group with open egress would drop
    the outgoing one as redundant.

    Args:
        scope: Where the rules are defined.
        inward: Id of the rule for traffic from the peer.
        outward: Id of the rule for traffic to the peer.
        group: The group that is opened.
        peer: The other group.
        description: The allowed traffic, for the rule.
    """
    here, there, everything = group.security_group_id, peer.security_group_id, "-1"
    incoming = ec2.CfnSecurityGroupIngress(
        scope,
        inward,
        group_id=here,
        source_security_group_id=there,
        ip_protocol=everything,
        description=description,
    )
    outgoing = ec2.CfnSecurityGroupEgress(
        scope,
        outward,
        group_id=here,
        destination_security_group_id=there,
        ip_protocol=everything,
        description=description,
    )
    return [incoming, outgoing]
