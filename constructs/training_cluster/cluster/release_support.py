"""How long EKS supports the Kubernetes release of a cluster: a warning at synth, by the day; never in the template."""

from datetime import date, timedelta

from aws_cdk import Annotations
from constructs import Construct

from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES, NOTICE_DAYS, KubernetesRelease
from training_workloads.catalog.prices import EKS_CONTROL_PLANE, EKS_EXTENDED_SUPPORT

__all__ = ["warn_of_the_end_of_support"]

_UPGRADE = "set kubernetes_version to the next release (docs/upgrade.md)"


def warn_of_the_end_of_support(scope: Construct, version: str, today: date | None = None) -> None:
    """Warn where the release of a cluster leaves standard support soon, has left it, or is not in the catalog."""
    release = KUBERNETES_RELEASES.get(version)
    text = _text(release, today or date.today()) if release else _newer(version)
    if text:
        Annotations.of(scope).add_warning_v2("cdk-training-cluster:end-of-support", text)


def _newer(version: str) -> str:
    return f"this library does not know Kubernetes {version}: it has no dates of support, and no versions of add-ons"


def _text(release: KubernetesRelease, today: date) -> str | None:
    standard, extended = release.standard_support_ends, release.extended_support_ends
    price = f"{EKS_EXTENDED_SUPPORT.usd_per_hour:.2f} USD per hour instead of {EKS_CONTROL_PLANE.usd_per_hour:.2f}"
    if today >= extended:
        return (
            f"EKS's support of Kubernetes {release.name} ended on {extended}: EKS upgrades the control plane by "
            f"itself, not the nodes and add-ons; {_UPGRADE}"
        )
    if today >= standard:
        return (
            f"Kubernetes {release.name} left EKS's standard support on {standard}: the control plane costs {price} "
            f"until {extended}, when EKS upgrades it by itself; {_UPGRADE}"
        )
    if today >= standard - timedelta(days=NOTICE_DAYS):
        return (
            f"Kubernetes {release.name} leaves EKS's standard support on {standard}, in {(standard - today).days} "
            f"days: from then on the control plane costs {price}; {_UPGRADE}"
        )
    return None
