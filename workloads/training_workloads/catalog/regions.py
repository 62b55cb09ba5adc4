"""The regions of AWS by partition, the domains of their ECR registries, and zones in which EKS has no control plane.

Regions: `partitions.json` of botocore 1.44.5 (https://github.com/boto/botocore, read 2026-11-23). Domains: addresses
for which a node asks ECR for a password, `matchImages` in nodeadm (https://github.com/awslabs/amazon-eks-ami), and
https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-requests.html (read 2026-11-23). Those of the European
sovereign partition follow botocore's domains for it.
"""

from dataclasses import dataclass

__all__ = ["EKS_REFUSED_ZONE_IDS", "PARTITIONS", "Partition", "partition_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """A partition of AWS: accounts, roles and registries of one are unknown in another.

    Attributes:
        name: As in ARNs.
        regions: Names of its regions.
        domain: End of a registry's address, `<account>.dkr.ecr.<region>.<domain>`.
        dual_stack_domain: End of its address for IPv4 and IPv6, `<account>.dkr-ecr.<region>.<domain>`; None where AWS
            names none.
    """

    name: str
    regions: frozenset[str]
    domain: str
    dual_stack_domain: str | None = None


def _partition(name: str, regions: str, domain: str, dual_stack_domain: str | None = None) -> Partition:
    return Partition(name=name, regions=frozenset(regions.split()), domain=domain, dual_stack_domain=dual_stack_domain)


#: By name.
PARTITIONS = {
    each.name: each
    for each in (
        _partition(
            "aws",
            "af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 "
            "ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7 "
            "ca-central-1 ca-west-1 eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 "
            "eu-west-3 il-central-1 me-central-1 me-south-1 me-west-1 mx-central-1 sa-east-1 sa-west-1 us-east-1 "
            "us-east-2 us-west-1 us-west-2",
            "amazonaws.com",
            "on.aws",
        ),
        _partition("aws-cn", "cn-north-1 cn-northwest-1", "amazonaws.com.cn", "on.amazonwebservices.com.cn"),
        _partition("aws-eusc", "eusc-de-east-1", "amazonaws.eu", "on.amazonwebservices.eu"),
        _partition("aws-us-gov", "us-gov-east-1 us-gov-west-1", "amazonaws.com", "on.aws"),
        _partition("aws-iso", "us-iso-east-1 us-iso-west-1", "c2s.ic.gov"),
        _partition("aws-iso-b", "us-isob-east-1 us-isob-west-1", "sc2s.sgov.gov"),
        _partition("aws-iso-e", "eu-isoe-west-1", "cloud.adc-e.uk"),
        _partition("aws-iso-f", "us-isof-east-1 us-isof-south-1", "csp.hci.ic.gov"),
    )
}


def partition_of(region: str) -> Partition | None:
    """Return the partition of a region; None if no partition has it."""
    return next((each for each in PARTITIONS.values() if region in each.regions), None)


#: Ids of zones in which EKS accepts no subnet of a control plane, by region; a region that is missing has none. The ids
#: (use1-az3) are the same in every account; the names (us-east-1c) are not: `aws ec2 describe-availability-zones` shows
#: both for an account. Nodes may run in such a zone, in a subnet that the control plane does not have. "Subnet
#: requirements for clusters": https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html (read 2026-11-23).
EKS_REFUSED_ZONE_IDS = {
    "us-east-1": frozenset({"use1-az3"}),
    "us-west-1": frozenset({"usw1-az2"}),
    "ca-central-1": frozenset({"cac1-az3"}),
}
