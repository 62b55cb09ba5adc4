"""The packages of EKS's AL2023 AMIs by release, and the known faults of these: `python -m setup.record_ami_packages`.

A fault is a range of one package's versions, or of releases where the package is not known. A release that the table
lacks has the packages of the one before it, so that the next known one ends a fault.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

__all__ = [
    "AMI_FAULTS",
    "AMI_FAULTS_CHECKED",
    "Ami",
    "AmiFault",
    "AmiPackages",
    "PackageRange",
    "ReleaseRange",
    "ami_packages",
    "known_faults",
]

#: The AMI of GPU nodes, and that of the system nodes, as EKS names them in its public parameters.
Ami = Literal["nvidia", "standard"]

_FILE = "ami_packages.json"
_BOTH: Final[tuple[Ami, ...]] = ("nvidia", "standard")


@dataclass(frozen=True, kw_only=True, slots=True)
class AmiPackages:
    """Packages of one release of the AMI.

    Attributes:
        release: The date in the release's name, such as 20260917.
        amis: The AMIs that have them.
        packages: Their versions: `driver` and `toolkit` of NVIDIA, `efa`, `ena`, `kernel`. One that is missing is not
            known.
        kubernetes_versions: Releases of Kubernetes whose AMIs have them; empty for all, which only the kernel differs
            between.
        source: URL.
    """

    release: int
    amis: tuple[Ami, ...]
    packages: Mapping[str, str]
    kubernetes_versions: tuple[str, ...] = ()
    source: str

    def has(self, package: str, ami: Ami, kubernetes_version: str) -> bool:
        """Return whether the version of a package is known of this AMI."""
        of_version = not self.kubernetes_versions or kubernetes_version in self.kubernetes_versions
        return of_version and ami in self.amis and package in self.packages


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageRange:
    """Versions of a package.

    Attributes:
        package: Its name in `AmiPackages`.
        below: The first version without the fault.
        at_least: The first version with it. Default: every older one has it.
    """

    package: str
    below: str
    at_least: str | None = None

    def contains(self, day: int, ami: Ami, kubernetes_version: str) -> bool:
        """Return whether a release has such a version."""
        rows = [each for each in ami_packages() if each.has(self.package, ami, kubernetes_version)]
        before = [each for each in rows if each.release <= day]
        # What is older than the table has older packages.
        oldest = rows[:1] if self.at_least is None else []
        row = next(iter(before[-1:] or oldest), None)
        return row is not None and self._has(row.packages[self.package])

    def _has(self, version: str) -> bool:
        numbers = _numbers(version)
        return _numbers(self.at_least or "") <= numbers < _numbers(self.below)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseRange:
    """Releases from one to another.

    Attributes:
        first: The first date in a name that counts: that of the first bad release, or the day after a good one.
        last: The last date: that of the last bad release, or the day before a good one.
    """

    first: int
    last: int

    def contains(self, day: int, ami: Ami, kubernetes_version: str) -> bool:
        """Return whether a release is one of them."""
        return self.first <= day <= self.last


@dataclass(frozen=True, kw_only=True, slots=True)
class AmiFault:
    """A known fault of the AMI.

    Attributes:
        where: The releases that have it.
        reason: The failure with its issue, as a clause after "it".
        fix: A release without it, in the imperative.
        amis: The AMIs that have it.
        families: Families of instance types whose nodes have it, such as p5en; empty for all.
        gap: What is not known of it; empty where nothing is missing.
        sources: URLs of release notes, issues and answers.
    """

    where: PackageRange | ReleaseRange
    reason: str
    fix: str
    amis: tuple[Ami, ...] = ("nvidia",)
    families: tuple[str, ...] = ()
    gap: str = ""
    sources: tuple[str, ...] = field(default=())


#: The day on which release notes and the issues labelled `bug` were read.
AMI_FAULTS_CHECKED = date(2026, 11, 28)

AMI_FAULTS = (
    AmiFault(
        where=PackageRange(package="toolkit", below="1.18"),
        reason="has an NVIDIA Container Toolkit before 1.18, with which running containers lose their GPUs ('Failed to "
        "initialize NVML: Unknown Error') when the kubelet's static CPU manager, which these nodes have, or systemd "
        "updates their cgroup (amazon-eks-ami#2428)",
        fix="give a release of 20251023 or later, or 'latest'",
        gap="NVIDIA says that 1.18 needs no workaround; it was not tested on these nodes",
        sources=(
            "https://github.com/awslabs/amazon-eks-ami/issues/2428",
            "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1305",
            "https://github.com/dstackai/dstack/issues/2860",
            "https://github.com/kubernetes/kubernetes/issues/77073",
        ),
    ),
    AmiFault(
        where=ReleaseRange(first=20251108, last=20251108),
        families=("p5en",),
        reason="starts CUDA on this type with 'Error 802: system not yet initialized' (amazon-eks-ami#2554)",
        fix="give 20251023, which works there, or a later release that you have tested, or 'latest'",
        gap="one report, still open, without a cause; there is none of the releases before and after",
        sources=("https://github.com/awslabs/amazon-eks-ami/issues/2554",),
    ),
    AmiFault(
        where=ReleaseRange(first=20260404, last=20260511),
        reason="ends NVIDIA's device plugin in a loop ('Failed to initialize NVML: Driver Not Loaded') unless it has "
        "SYS_ADMIN, and no node has a GPU to request (amazon-eks-ami#2706, of 20260423 on g6 and p6-b200)",
        fix="give a release of 20260512 or later, 'latest', or 20260403, the last one before",
        gap="the release that fixes it is not named; with 20260512 the plugin was seen to work without SYS_ADMIN",
        sources=(
            "https://github.com/awslabs/amazon-eks-ami/issues/2706",
            "https://github.com/aws-samples/sample-eks-enterprise-quickstart/blob/main/docs/AMI_VERSIONS.md",
        ),
    ),
    AmiFault(
        where=PackageRange(package="kernel", at_least="6.12.110", below="6.12.111"),
        amis=_BOTH,
        reason="panics while the kernel reclaims memory, and nodes restart (kernel 6.12.110, amazon-eks-ami#2845)",
        fix="give a release of 20261012 or later, or 'latest'",
        sources=(
            "https://github.com/awslabs/amazon-eks-ami/releases/tag/v20261003",
            "https://github.com/awslabs/amazon-eks-ami/releases/tag/v20261012",
        ),
    ),
)


@cache
def ami_packages() -> tuple[AmiPackages, ...]:
    """Return the recorded packages, the oldest release first."""
    recorded: dict[str, Any] = json.loads(resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))
    rows = [{**row, "amis": tuple(row["amis"])} for row in recorded["releases"]]
    for row in rows:
        row["kubernetes_versions"] = tuple(row.get("kubernetes_versions", ()))
    return tuple(sorted((AmiPackages(**row) for row in rows), key=lambda each: each.release))


def known_faults(day: int, ami: Ami, *, kubernetes_version: str, instance_type: str) -> Iterator[AmiFault]:
    """Yield the faults that a release has on nodes of a type.

    Args:
        day: The date in the release's name.
        ami: The AMI.
        kubernetes_version: Release of Kubernetes of the nodes.
        instance_type: Their type; of its name the family counts.
    """
    family = instance_type.partition(".")[0]
    for fault in AMI_FAULTS:
        concerned = ami in fault.amis and (not fault.families or family in fault.families)
        if concerned and fault.where.contains(day, ami, kubernetes_version):
            yield fault


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version))
