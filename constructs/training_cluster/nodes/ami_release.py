"""The facts in the name of a release of EKS's AL2023 NVIDIA AMI: its Kubernetes release, its day, its drivers."""

from datetime import datetime
from typing import Any

from aws_cdk import Token

from training_workloads.catalog.versions import AMI_DRIVERS, BAD_AMI_RELEASES, BadAmiRelease
from training_workloads.validation import Problem, Problems

__all__ = ["AMI_RELEASE", "bad_release", "driver_branches", "has_date", "valid_ami_release"]

#: The form of a name: https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
AMI_RELEASE = r"[0-9]\.[0-9]+\.[0-9]+-[0-9]{8}"


def has_date(ami_release: str) -> bool:
    """Return whether the last digits of a name are a day."""
    try:
        return bool(datetime.strptime(_released(ami_release), "%Y%m%d"))
    except ValueError:
        return False


def bad_release(ami_release: str) -> BadAmiRelease | None:
    """Return the warning of a release; None without one."""
    version, released = ami_release.rpartition(".")[0], _released(ami_release)
    return next(
        (bad for bad in BAD_AMI_RELEASES if str(bad.released) == released and version in bad.kubernetes_versions), None
    )


def driver_branches(ami_release: Any) -> tuple[int, ...]:
    """Return the branches of the NVIDIA driver in a release, None for the newest; empty where they are not known."""
    if ami_release is None:
        return AMI_DRIVERS[-1].branches
    released = _released(ami_release)
    known = [row.branches for row in AMI_DRIVERS if released.isdigit() and row.since <= int(released)]
    return known[-1] if known else ()


def valid_ami_release(ami_release: str | None, kubernetes_version: str | None) -> Problems:
    """Reject an `ami_release` of another Kubernetes release than the nodes', as EKS does; None fits any."""
    if ami_release is None or kubernetes_version is None or Token.is_unresolved(kubernetes_version):
        return
    if not ami_release.startswith(f"{kubernetes_version}."):
        yield Problem(
            path=("ami_release",),
            given=ami_release,
            allowed=f"kubernetes_version is {kubernetes_version!r}",
            fix=f"give a release of {kubernetes_version}, or change the version",
            related=(("kubernetes_version",),),
        )


def _released(ami_release: Any) -> str:
    return str(ami_release).rpartition("-")[2]
