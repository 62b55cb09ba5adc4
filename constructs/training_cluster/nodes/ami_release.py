"""The facts in the name of a release of EKS's AL2023 AMI: its Kubernetes release, its day, its drivers, its faults."""

from datetime import datetime
from typing import Annotated, Any, Final

from aws_cdk import Token

from training_workloads.catalog.ami_releases import Ami, known_faults
from training_workloads.catalog.versions import AMI_DRIVERS
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, matches

__all__ = ["LATEST", "AmiRelease", "driver_branches", "is_named", "newest_parameter", "valid_ami_release", "valid_name"]

#: The word for the newest release, which a synthesis looks up once.
LATEST: Final = "latest"

# The form of a name: https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
_RELEASE = r"[0-9]\.[0-9]+\.[0-9]+-[0-9]{8}"

# https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html, read 2026-11-23
_NEWEST = "/aws/service/eks/optimized-ami/{release}/amazon-linux-2023/x86_64/{ami}/recommended/release_version"

#: The value of `ami_release`, in all node groups.
AmiRelease = Annotated[
    str, Checked(matches, f"{LATEST}|{_RELEASE}", f"'{LATEST}', or an AMI release of EKS, such as 1.35.0-20260917")
]


def is_named(ami_release: Any) -> bool:
    """Return whether a value is the name of one release."""
    return isinstance(ami_release, str) and ami_release != LATEST


def newest_parameter(kubernetes_version: str, ami: Ami) -> str:
    """Return the public parameter with the name of the newest release."""
    return _NEWEST.format(release=kubernetes_version, ami=ami)


def valid_name(ami_release: str, ami: Ami, instance_type: str) -> Problems:
    """Reject a name that ends with no day, and a release with a known fault on nodes of a type."""
    if not is_named(ami_release):
        return
    if not _has_date(ami_release):
        yield Problem(
            path=("ami_release",),
            given=ami_release,
            allowed="it does not end with a date (year, month, day)",
            fix="give one of https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html",
        )
        return
    day, kubernetes_version = int(_released(ami_release)), ami_release.rpartition(".")[0]
    for fault in known_faults(day, ami, kubernetes_version=kubernetes_version, instance_type=instance_type):
        yield Problem(path=("ami_release",), given=ami_release, allowed=f"it {fault.reason}", fix=fault.fix)


def driver_branches(ami_release: Any) -> tuple[int, ...]:
    """Return the branches of the NVIDIA driver in a release; empty where they are not known."""
    if not is_named(ami_release):
        return AMI_DRIVERS[-1].branches
    released = _released(ami_release)
    known = [row.branches for row in AMI_DRIVERS if released.isdigit() and row.since <= int(released)]
    return known[-1] if known else ()


def valid_ami_release(ami_release: str, kubernetes_version: str | None) -> Problems:
    """Reject an `ami_release` of another Kubernetes release than the nodes', as EKS does; 'latest' fits any."""
    if not is_named(ami_release) or kubernetes_version is None or Token.is_unresolved(kubernetes_version):
        return
    if not ami_release.startswith(f"{kubernetes_version}."):
        yield Problem(
            path=("ami_release",),
            given=ami_release,
            allowed=f"kubernetes_version is {kubernetes_version!r}",
            fix=f"give a release of {kubernetes_version} or 'latest', or change the version",
            related=(("kubernetes_version",),),
        )


def _has_date(ami_release: str) -> bool:
    try:
        return bool(datetime.strptime(_released(ami_release), "%Y%m%d"))
    except ValueError:
        return False


def _released(ami_release: str) -> str:
    return ami_release.rpartition("-")[2]
