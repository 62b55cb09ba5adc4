"""Prices by the month of what stays when a cluster is destroyed, in us-east-1."""

from dataclasses import dataclass
from datetime import date

__all__ = ["BUCKET", "ELASTIC_FILES", "IMAGES", "KEY", "MonthlyPrice"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MonthlyPrice:
    """A price on one day.

    Attributes:
        usd: Dollars a month without tax.
        unit: `GB` (2^30 bytes, as AWS bills), or `key`.
        source: URL of the source.
        checked: The day of the source.
    """

    usd: float
    unit: str
    source: str
    checked: date


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
