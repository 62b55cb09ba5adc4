"""Rules of security groups, as children of the construct that needs them."""

from typing import Any

from aws_cdk import CfnResource
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

__all__ = ["allow_all", "allow_tcp"]


def allow_tcp(
    scope: Construct, id: str, *, group: ec2.ISecurityGroup, peer: ec2.ISecurityGroup, ports: range, description: str
) -> CfnResource:
    """Define a rule that opens TCP ports of a group to a peer.

    It is an L1 rule: one of the L2 would stand beside the group, in the group's stack.
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
    """Define rules, with an id each, for all traffic between a group and a peer, in and out, as EFA needs them.

    EFA bypasses the IP stack: only rules that name the other group cover it. An L2 group with open egress would drop
    the outgoing one as redundant.
    """
    other = peer.security_group_id
    all_traffic: dict[str, Any] = {"group_id": group.security_group_id, "ip_protocol": "-1", "description": description}
    return [
        ec2.CfnSecurityGroupIngress(scope, inward, source_security_group_id=other, **all_traffic),
        ec2.CfnSecurityGroupEgress(scope, outward, destination_security_group_id=other, **all_traffic),
    ]
