"""The quotas of an account that a cluster needs, by their codes in Service Quotas.

`aws service-quotas get-service-quota --service-code ec2 --quota-code L-417A185B` prints the value and the name of one.
"""

import re
from dataclasses import dataclass

__all__ = [
    "EKS_CLUSTERS",
    "ELASTIC_IPS",
    "LUSTRE_CAPACITY",
    "LUSTRE_FILE_SYSTEMS",
    "NAT_GATEWAYS",
    "NETWORK_INTERFACES",
    "VPCS",
    "Quota",
    "vcpu_quota",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """A quota of an account in a region.

    Attributes:
        service: The service's code.
        code: The quota's code, the same in every account and region.
        name: The name that Service Quotas shows.
    """

    service: str
    code: str
    name: str


# vCPUs. https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html, read 2026-11-23. The page has
# one quota for On-Demand instances of every P family, and two for Spot, of which neither names P6.
_STANDARD = Quota(
    service="ec2", code="L-1216C47A", name="Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
)
_ON_DEMAND_G = Quota(service="ec2", code="L-DB2E81BA", name="Running On-Demand G and VT instances")
_ON_DEMAND_P = Quota(service="ec2", code="L-417A185B", name="Running On-Demand P instances")
_SPOT_G = Quota(service="ec2", code="L-3819A6DF", name="All G and VT Spot Instance Requests")
_SPOT_P4 = Quota(service="ec2", code="L-7212CCBC", name="All P4, P3 and P2 Spot Instance Requests")
_SPOT_P5 = Quota(service="ec2", code="L-C4BD4855", name="All P5 Spot Instance Requests")

# Quotas by the start of a type's name, for On-Demand and for Spot.
_FAMILIES = (
    (r"g\d|gr\d", _ON_DEMAND_G, _SPOT_G),
    (r"p[2-4]", _ON_DEMAND_P, _SPOT_P4),
    (r"p5", _ON_DEMAND_P, _SPOT_P5),
    (r"p\d", _ON_DEMAND_P, None),
    (r"[acdhimrtz]\d", _STANDARD, None),
)

#: https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html. The page was not read: the codes are those
#: of an output of `aws service-quotas list-service-quotas --service-code vpc` (read 2026-11-23). Elastic IP addresses
#: are EC2's.
VPCS = Quota(service="vpc", code="L-F678F1CE", name="VPCs per Region")
NAT_GATEWAYS = Quota(service="vpc", code="L-FE5A380F", name="NAT gateways per Availability Zone")
NETWORK_INTERFACES = Quota(service="vpc", code="L-DF5E4CA3", name="Network interfaces per Region")
ELASTIC_IPS = Quota(service="ec2", code="L-0263D0A3", name="EC2-VPC Elastic IPs")

#: https://docs.aws.amazon.com/general/latest/gr/eks.html; the code from such an output.
EKS_CLUSTERS = Quota(service="eks", code="L-1194D53C", name="Clusters")

#: By deployment type, in GiB and in file systems. https://docs.aws.amazon.com/general/latest/gr/fsxn.html; the codes
#: from such an output.
LUSTRE_CAPACITY = {
    "PERSISTENT_2": Quota(service="fsx", code="L-8F1B9C74", name="Lustre Persistent_2 storage capacity"),
    "SCRATCH_2": Quota(service="fsx", code="L-AD2FC696", name="Lustre Scratch storage capacity"),
}
LUSTRE_FILE_SYSTEMS = {
    "PERSISTENT_2": Quota(service="fsx", code="L-FD6F2F22", name="Lustre Persistent_2 file systems"),
    "SCRATCH_2": Quota(service="fsx", code="L-C48231E5", name="Lustre Scratch file systems"),
}


def vcpu_quota(instance_type: str, *, spot: bool) -> Quota | None:
    """Return the quota that limits the vCPUs of an instance type; None where AWS's page names none."""
    for pattern, on_demand, of_spot in _FAMILIES:
        if re.match(pattern, instance_type):
            return of_spot if spot else on_demand
    return None
