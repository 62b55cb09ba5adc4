"""What a cluster's services cost by the hour, apart from its instances.

A service without a price that somebody dated is not here, and the estimate says that it leaves it out: FSx for Lustre,
EFS, volumes, logs and metrics, data transfer. To check a price against AWS:
`aws pricing get-products --region us-east-1 --service-code AmazonEKS`.
"""

from datetime import date

from training_workloads.catalog.instance_type import Price

__all__ = ["EKS_CONTROL_PLANE", "NAT_GATEWAY"]

#: One cluster on a Kubernetes release in standard support, the same in every region; AWS's page
#: https://aws.amazon.com/eks/pricing/ is read through the source.
EKS_CONTROL_PLANE = Price(
    usd_per_hour=0.10,
    region="us-east-1",
    source="https://cloudburn.io/blog/amazon-eks-pricing",
    checked=date(2026, 3, 13),
)

#: One gateway, without the data that goes through it; AWS's page https://aws.amazon.com/vpc/pricing/ is read through
#: the source.
NAT_GATEWAY = Price(
    usd_per_hour=0.045,
    region="us-east-1",
    source="https://cloudburn.io/blog/aws-nat-gateway-pricing",
    checked=date(2026, 2, 24),
)
