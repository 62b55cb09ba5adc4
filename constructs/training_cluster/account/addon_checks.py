"""The check of the add-ons' versions: whether EKS offers each for the Kubernetes release."""

from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_workloads.catalog.kubernetes_releases import addon_version

__all__ = ["addon_versions_are_offered"]


def addon_versions_are_offered(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the version of each add-on with those that EKS has: another one fails the stack."""
    config, account = deployment.config, deployment.account
    release = config.kubernetes_version
    for name in config.addons:
        request = {"kubernetesVersion": release, "addonName": name}
        found = account.all("eks", "describe_addon_versions", "addons", **request)
        versions = [version for addon in found for version in addon["addonVersions"]]
        offered = [each["addonVersion"] for each in versions]
        default = next((each["addonVersion"] for each in versions if _is_default(each, release)), None)
        wanted = config.addon_versions.get(name) or _of_the_catalog(name, release)
        yield decided(
            f"add-on {name}",
            wanted in offered if wanted else bool(offered),
            actual=_shown(wanted, offered, default, release),
            needed=wanted or "EKS's default",
            remedy=f"set addon_versions.{name} to {default or (offered or ['a version of another region'])[0]}",
        )


def _of_the_catalog(name: str, release: str) -> str | None:
    """Return the version that the template has without `addon_versions`."""
    known = addon_version(name, release)
    return known.version if known and known.release == release else None


def _is_default(version: dict[str, Any], release: str) -> bool:
    found = version.get("compatibilities", ())
    return any(each.get("clusterVersion") == release and each.get("defaultVersion") for each in found)


def _shown(wanted: str | None, offered: list[str], default: str | None, release: str) -> str:
    if not offered:
        return f"EKS has no version of it for Kubernetes {release}"
    if wanted == default or wanted is None:
        return f"{default} is EKS's default"
    has = "offered" if wanted in offered else f"EKS does not offer {wanted} for Kubernetes {release}"
    return f"{has}; its default is {default}"
