"""The Kubernetes releases of EKS: their dates, their autoscalers, and the versions of EKS's add-ons.

To check a row: `aws eks describe-cluster-versions`, and
`aws eks describe-addon-versions --kubernetes-version 1.36 --addon-name vpc-cni`. `make outdated` lists the rows that
were read long ago.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from training_workloads.catalog.images import AUTOSCALER_IMAGES, Image

__all__ = ["ADDONS", "KUBERNETES_RELEASES", "NOTICE_DAYS", "AddonVersion", "KubernetesRelease", "addon_version"]

#: EKS announces the end of standard support at least so many days ahead ("Amazon EKS version FAQs" of the page below).
NOTICE_DAYS = 60

#: EKS's add-ons of a cluster of this library; the last three by option.
ADDONS = (
    "vpc-cni",
    "kube-proxy",
    "eks-pod-identity-agent",
    "coredns",
    "aws-fsx-csi-driver",
    "eks-node-monitoring-agent",
    "aws-efs-csi-driver",
    "aws-ebs-csi-driver",
    "metrics-server",
    "amazon-cloudwatch-observability",
)

_BY_OPTION = ("aws-ebs-csi-driver", "metrics-server", "amazon-cloudwatch-observability")

_CHECKED = date(2026, 11, 23)
_CALENDAR = "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html"
_END_OF_LIFE = "https://endoflife.date/amazon-eks"
_ANNOUNCED = "https://aws.amazon.com/about-aws/whats-new/2026/10/amazon-eks-distro-kubernetes-version-1-37/"

_OLDER_AUTOSCALERS = (
    "https://github.com/kubernetes/kops/pull/17640",
    "https://github.com/kubernetes/k8s.io/pull/8815",
)

# The reasons of missing versions. A version that the release does not have would fail the deployment.
_NOT_READ = "no public record that was read pairs a version of it with this release"
_NO_CLUSTER = "this library makes no new cluster of this release, and adds no add-ons to an existing one"
_NO_AUTOSCALER = "the project has published none for this release, so it has that of the release before"
_DERIVED = "derived: 14 and 26 months after EKS released it on 2026-10-01, as for every release before; not read"


@dataclass(frozen=True, kw_only=True, slots=True)
class KubernetesRelease:
    """A minor release of Kubernetes, as EKS runs it.

    Attributes:
        name: Major and minor number, such as 1.36.
        standard_support_ends: First day of extended support, in UTC; from it on the control plane costs more.
        extended_support_ends: The day from which EKS upgrades the control plane to the next release by itself.
        autoscaler_image: Image of the Cluster Autoscaler. It simulates the scheduler, so its minor version is the
            cluster's, if there is one
            (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/README.md#releases).
        addons: Versions of EKS's add-ons, by name. EKS never upgrades an add-on by itself
            (https://docs.aws.amazon.com/eks/latest/userguide/updating-an-add-on.html).
        sources: URLs of the pages with these numbers.
        checked: Date on which they were read.
        unknown: Why an add-on has no version, or a date or tag is not that of the source.
    """

    name: str
    standard_support_ends: date
    extended_support_ends: date
    autoscaler_image: Image
    addons: Mapping[str, str] = field(hash=False)
    sources: tuple[str, ...]
    checked: date = _CHECKED
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class AddonVersion:
    """A version of one of EKS's add-ons.

    Attributes:
        version: EKS's name of it, such as v1.9.0-eksbuild.1.
        release: The release of Kubernetes that it was read for.
    """

    version: str
    release: str


def _existing_only(name: str, standard: date, extended: date, autoscaler_tag: str) -> KubernetesRelease:
    return KubernetesRelease(
        name=name,
        standard_support_ends=standard,
        extended_support_ends=extended,
        autoscaler_image=AUTOSCALER_IMAGES[autoscaler_tag],
        addons={},
        sources=(_CALENDAR, *_OLDER_AUTOSCALERS),
        unknown=dict.fromkeys(ADDONS, _NO_CLUSTER),
    )


_RELEASES = (
    _existing_only("1.31", date(2025, 11, 26), date(2026, 11, 26), "v1.31.4"),
    _existing_only("1.32", date(2026, 3, 23), date(2027, 3, 23), "v1.32.5"),
    _existing_only("1.33", date(2026, 7, 29), date(2027, 7, 29), "v1.33.6"),
    KubernetesRelease(
        name="1.34",
        standard_support_ends=date(2026, 12, 2),
        extended_support_ends=date(2027, 12, 2),
        autoscaler_image=AUTOSCALER_IMAGES["v1.34.5"],
        addons={
            "vpc-cni": "v1.22.4-eksbuild.3",
            "kube-proxy": "v1.34.6-eksbuild.21",
            "eks-pod-identity-agent": "v1.3.10-eksbuild.3",
            "coredns": "v1.12.4-eksbuild.29",
            "aws-efs-csi-driver": "v3.4.0-eksbuild.1",
        },
        # The add-ons: two public configurations of clusters of 1.34, whose comments name describe-addon-versions.
        sources=(_CALENDAR, "https://github.com/search?type=code&q=%22v1.34.6-eksbuild.21%22"),
        unknown=dict.fromkeys(("aws-fsx-csi-driver", "eks-node-monitoring-agent", *_BY_OPTION), _NOT_READ),
    ),
    KubernetesRelease(
        name="1.35",
        standard_support_ends=date(2027, 3, 27),
        extended_support_ends=date(2028, 3, 27),
        autoscaler_image=AUTOSCALER_IMAGES["v1.35.2"],
        addons={
            "vpc-cni": "v1.22.4-eksbuild.3",
            "kube-proxy": "v1.35.3-eksbuild.21",
            "eks-pod-identity-agent": "v1.3.10-eksbuild.3",
            "coredns": "v1.13.2-eksbuild.21",
            "aws-fsx-csi-driver": "v1.9.0-eksbuild.1",
            "eks-node-monitoring-agent": "v1.7.0-eksbuild.1",
            "aws-efs-csi-driver": "v3.4.1-eksbuild.1",
            "aws-ebs-csi-driver": "v1.66.0-eksbuild.1",
            "metrics-server": "v0.9.0-eksbuild.7",
        },
        # The add-ons: public configurations of clusters of 1.35; that of node agent and EFS is written by a script that
        # asks describe-addon-versions, and those of EBS and metrics-server name it too.
        sources=(
            _CALENDAR,
            "https://github.com/search?type=code&q=%22v1.35.3-eksbuild.21%22",
            "https://github.com/search?type=code&q=%22v1.66.0-eksbuild.1%22",
        ),
        unknown={"amazon-cloudwatch-observability": _NOT_READ},
    ),
    KubernetesRelease(
        name="1.36",
        standard_support_ends=date(2027, 8, 2),
        extended_support_ends=date(2028, 8, 2),
        autoscaler_image=AUTOSCALER_IMAGES["v1.36.1"],
        addons={
            "vpc-cni": "v1.22.4-eksbuild.3",
            "kube-proxy": "v1.36.0-eksbuild.21",
            "eks-pod-identity-agent": "v1.3.10-eksbuild.3",
            "coredns": "v1.14.3-eksbuild.16",
            "aws-ebs-csi-driver": "v1.66.0-eksbuild.1",
            "metrics-server": "v0.9.0-eksbuild.11",
            "amazon-cloudwatch-observability": "v6.6.0-eksbuild.1",
        },
        # The add-ons: what a cluster of 1.36 with GPU and EFA nodes got by default on 2026-09-16, as its templates'
        # compatibility matrix records; the last three are public records of describe-addon-versions for 1.36.
        sources=(
            _END_OF_LIFE,
            "https://github.com/kubernetes/autoscaler/releases/tag/cluster-autoscaler-1.36.1",
            "https://github.com/search?type=code&q=%22v1.36.0-eksbuild.21%22",
            "https://github.com/search?type=code&q=%22v0.9.0-eksbuild.11%22",
            "https://github.com/search?type=code&q=%22v6.6.0-eksbuild.1%22",
        ),
        unknown=dict.fromkeys(("aws-fsx-csi-driver", "eks-node-monitoring-agent", "aws-efs-csi-driver"), _NOT_READ),
    ),
    KubernetesRelease(
        name="1.37",
        standard_support_ends=date(2027, 12, 1),
        extended_support_ends=date(2028, 12, 1),
        autoscaler_image=AUTOSCALER_IMAGES["v1.36.1"],
        addons={},
        sources=(_ANNOUNCED,),
        unknown={
            **dict.fromkeys(ADDONS, _NOT_READ),
            "standard_support_ends": _DERIVED,
            "extended_support_ends": _DERIVED,
            "autoscaler_image": _NO_AUTOSCALER,
        },
    ),
)

#: Every release that EKS runs, by name, oldest first.
KUBERNETES_RELEASES: dict[str, KubernetesRelease] = {one.name: one for one in _RELEASES}


def addon_version(name: str, release: str) -> AddonVersion | None:
    """Return the version of an add-on for a release of Kubernetes, or the newest one of the releases before.

    Whether EKS offers a version of an older release for a newer one is not known: it is for people, not for a template.
    """
    known = list(KUBERNETES_RELEASES)
    for each in reversed(known[: known.index(release) + 1] if release in known else ()):
        if version := KUBERNETES_RELEASES[each].addons.get(name):
            return AddonVersion(version=version, release=each)
    return None
