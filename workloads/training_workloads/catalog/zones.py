"""Availability zones in which EKS accepts no subnet of a control plane.

The ids (use1-az3) are the same in every account; the names (us-east-1c) are not: `aws ec2 describe-availability-zones`
shows both for an account. Nodes may run in such a zone, in a subnet that the control plane does not have.
"""

__all__ = ["EKS_REFUSED_ZONE_IDS"]

#: By region; a region that is missing has none (https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html,
#: "Subnet requirements for clusters", read 2026-11-23).
EKS_REFUSED_ZONE_IDS = {
    "us-east-1": frozenset({"use1-az3"}),
    "us-west-1": frozenset({"usw1-az2"}),
    "ca-central-1": frozenset({"cac1-az3"}),
}
