"""Releases of EKS's AMI for NVIDIA GPUs: how they are named, and which drivers they have."""

import re
from datetime import datetime
from typing import Any

from training_workloads.catalog.versions import AMI_DRIVERS

__all__ = ["AMI_RELEASE", "driver_branches", "has_date"]

#: https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
AMI_RELEASE = r"[0-9]\.[0-9]+\.[0-9]+-[0-9]{8}"


def has_date(ami_release: Any) -> bool:
    """Whether the digits behind the `-` are a day; true of what has not the form of a release.

    Args:
        ami_release: What the user gave.
    """
    if not re.fullmatch(AMI_RELEASE, str(ami_release)):
        return True
    try:
        return bool(datetime.strptime(_released(ami_release), "%Y%m%d"))
    except ValueError:
        return False


def driver_branches(ami_release: Any) -> tuple[int, ...]:
    """Branches of the NVIDIA driver in a release; none where that is not known.

    Args:
        ami_release: What the user gave; None for the newest release.
    """
    if ami_release is None:
        return AMI_DRIVERS[-1].branches
    released = _released(ami_release)
    known = [row.branches for row in AMI_DRIVERS if released.isdigit() and row.since <= int(released)]
    return known[-1] if known else ()


def _released(ami_release: Any) -> str:
    return str(ami_release).rpartition("-")[2]
