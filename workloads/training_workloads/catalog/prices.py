"""Prices: by the hour the services of a cluster apart from its instances, by the month storage and keys.

The price of an instance type stands in its row, in `p_family.py` or `g_family.py`. A service without a dated price is
not here, and the estimate names it: most throughput classes of FSx for Lustre, logs and metrics, data transfer. To
check a price: `aws pricing get-products --region us-east-1 --service-code AmazonEKS`.
"""

from dataclasses import dataclass
from datetime import date

from training_workloads.catalog.instance_type import Price

__all__ = [
    "BUCKET",
    "EKS_CONTROL_PLANE",
    "EKS_EXTENDED_SUPPORT",
    "ELASTIC_FILES",
    "IMAGES",
    "INTERFACE_ENDPOINT",
    "KEY",
    "LUSTRE",
    "NAT_GATEWAY",
    "VOLUME",
    "VOLUME_IOPS",
    "VOLUME_THROUGHPUT",
    "MonthlyPrice",
]

# AWS calculates with 365 days of 24 hours in twelve months.
_HOURS_OF_A_MONTH = 730

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


@dataclass(frozen=True, kw_only=True, slots=True)
class MonthlyPrice:
    """A price by the month on one day.

    Attributes:
        usd: Dollars a month without tax.
        unit: `GB` (2^30 bytes, as AWS bills), `IOPS`, `MiB/s` or `key`.
        source: URL of the source.
        checked: The day of the source.
        region: AWS region of the price.
    """

    usd: float
    unit: str
    source: str
    checked: date
    region: str = "us-east-1"

    def by_the_hour(self, units: float) -> Price:
        """Return the price of so many units for an hour."""
        usd = self.usd * units / _HOURS_OF_A_MONTH
        return Price(usd_per_hour=usd, region=self.region, source=self.source, checked=self.checked)


#: S3 Standard, the first 50 TB; the source quotes https://aws.amazon.com/s3/pricing/.
BUCKET = MonthlyPrice(
    usd=0.023,
    unit="GB",
    source="https://zeonedge.com/blog/cloud-storage-cost-guide-s3-ebs-efs-fsx-choosing-right-tier",
    checked=date(2026, 4, 9),
)

#: ECR, private; the source quotes https://aws.amazon.com/ecr/pricing/.
IMAGES = MonthlyPrice(
    usd=0.10, unit="GB", source="https://cloudburn.io/blog/amazon-ecr-pricing", checked=date(2026, 3, 1)
)

#: EFS Standard. The stored copy of AWS's page has no date: this is the day on which it was read.
ELASTIC_FILES = MonthlyPrice(
    usd=0.30, unit="GB", source="https://aws.amazon.com/efs/pricing/", checked=date(2026, 11, 23)
)

#: A key of KMS that a customer manages, without its requests and older versions; the source quotes
#: https://aws.amazon.com/kms/pricing/.
KEY = MonthlyPrice(
    usd=1.00,
    unit="key",
    source="https://gist.github.com/dasgoll/b88d5be05dcc0deb052ad40446c2fb40",
    checked=date(2019, 10, 30),
)

#: FSx for Lustre on SSD, by deployment type and MB/s per TiB. The first source names no region; notes of other projects
#: have its price for us-east-1, and no page with those of the faster classes could be read.
LUSTRE: dict[tuple[str, int], MonthlyPrice] = {
    ("PERSISTENT_2", 125): MonthlyPrice(
        usd=0.145,
        unit="GB",
        source="https://c3x.dev/resources/aws/aws_fsx_lustre_file_system/",
        checked=date(2026, 11, 28),
    ),
    ("SCRATCH_2", 200): MonthlyPrice(
        usd=0.140,
        unit="GB",
        source="https://learning-aws.readthedocs.io/en/latest/_sources/resources/pricing.rst.txt",
        checked=date(2026, 11, 28),
    ),
}

# The page has no day: this is the one on which it was read.
_VOLUMES = "https://cloudoptimo.com/blog/everything-you-need-to-know-about-aws-ebs-pricing-and-cost-saving-tips"

#: An EBS volume of type gp3: its storage, each of its IOPS above 3,000, and each MiB/s above 125.
VOLUME = MonthlyPrice(usd=0.08, unit="GB", source=_VOLUMES, checked=date(2026, 11, 28))
VOLUME_IOPS = MonthlyPrice(usd=0.005, unit="IOPS", source=_VOLUMES, checked=date(2026, 11, 28))
VOLUME_THROUGHPUT = MonthlyPrice(usd=0.04, unit="MiB/s", source=_VOLUMES, checked=date(2026, 11, 28))
