"""Prices by the hour: the type of a price, and the services of a cluster apart from its instances.

The price of an instance type stands in its row, in `p_family.py` or `g_family.py`.
A service without a dated price is not here, and the estimate says that it omits it: FSx for Lustre, EFS, volumes, logs
and metrics, data transfer. To check a price: `aws pricing get-products --region us-east-1 --service-code AmazonEKS`.
"""

from dataclasses import dataclass
from datetime import date

__all__ = ["EKS_CONTROL_PLANE", "EKS_EXTENDED_SUPPORT", "INTERFACE_ENDPOINT", "NAT_GATEWAY", "Price"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """An On-Demand price for Linux on one day.

    Attributes:
        usd_per_hour: Dollars for one instance and hour, without tax.
        region: AWS region of the price.
        source: URL of the source.
        checked: The day on which AWS's price list showed it.
    """

    usd_per_hour: float
    region: str
    source: str
    checked: date


#: One cluster on a Kubernetes release in standard support, the same in every region; the source quotes AWS's page
#: https://aws.amazon.com/eks/pricing/.
EKS_CONTROL_PLANE = Price(
    usd_per_hour=0.10,
    region="us-east-1",
    source="https://cloudburn.io/blog/amazon-eks-pricing",
    checked=date(2026, 3, 13),
)

#: One cluster on a release in extended support: AWS's page states this as the total of an hour.
EKS_EXTENDED_SUPPORT = Price(
    usd_per_hour=0.60,
    region="us-east-1",
    source="https://aws.amazon.com/blogs/containers/amazon-eks-extended-support-for-kubernetes-versions-pricing/",
    checked=date(2026, 11, 23),
)

#: One gateway, without the data that it processes; the source quotes AWS's page https://aws.amazon.com/vpc/pricing/.
NAT_GATEWAY = Price(
    usd_per_hour=0.045,
    region="us-east-1",
    source="https://cloudburn.io/blog/aws-nat-gateway-pricing",
    checked=date(2026, 2, 24),
)

#: One endpoint in one zone, without the data that it processes; the source calculates with AWS's page
#: https://aws.amazon.com/privatelink/pricing/, which bills an endpoint by the hour in each zone.
INTERFACE_ENDPOINT = Price(
    usd_per_hour=0.01,
    region="us-east-1",
    source="https://cloudcostkit.com/calculators/aws-vpc-interface-endpoint-cost-calculator",
    checked=date(2026, 1, 29),
)
