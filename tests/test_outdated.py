"""`make outdated`: the catalog against its sources, which are stand-ins here."""

from datetime import date

import pytest

from setup.outdated import Sources, UnreadError, outdated
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.versions import (
    CLUSTER_AUTOSCALER,
    DCGM_EXPORTER,
    EFA_DEVICE_PLUGIN,
    NVIDIA_DEVICE_PLUGIN,
)

TODAY = date(2026, 11, 23)


class SameAsCatalog(Sources):
    """Sources that have what the catalog has, where it has a version."""

    def chart(self, repository: str, name: str) -> str:
        """Return the catalog's."""
        charts = (NVIDIA_DEVICE_PLUGIN, EFA_DEVICE_PLUGIN, CLUSTER_AUTOSCALER, DCGM_EXPORTER)
        return next(one.version for one in charts if one.chart == name)

    def package_exists(self, name: str) -> bool:
        """There is no newer kubectl."""
        assert name == "aws-cdk.lambda-layer-kubectl-v38"
        return False

    def cluster_versions(self) -> dict[str, date]:
        """Return the catalog's."""
        return {name: one.standard_support_ends for name, one in KUBERNETES_RELEASES.items()}

    def addon(self, name: str, kubernetes_version: str) -> str:
        """Return the catalog's."""
        return KUBERNETES_RELEASES[kubernetes_version].addons.get(name, "no version")


def lines(sources: Sources, kind: str) -> list[str]:
    return [line.text for line in outdated(sources, today=TODAY) if line.kind == kind]


def test_nothing_is_older_than_sources_with_the_same_versions() -> None:
    assert lines(SameAsCatalog(), "older") == []
    assert lines(SameAsCatalog(), "unread") == []


def test_names_what_is_older_with_both_versions() -> None:
    class Newer(SameAsCatalog):
        def chart(self, repository: str, name: str) -> str:
            return "0.20.10" if name == "nvidia-device-plugin" else super().chart(repository, name)

        def package_exists(self, name: str) -> bool:
            return True

        def cluster_versions(self) -> dict[str, date]:
            return {"1.36": date(2027, 8, 2), "1.37": date(2027, 12, 3), "1.38": date(2028, 4, 1)}

        def addon(self, name: str, kubernetes_version: str) -> str:
            found = super().addon(name, kubernetes_version)
            return "v9.0.0-eksbuild.1" if (name, kubernetes_version) == ("vpc-cni", "1.35") else found

    assert lines(Newer(), "older") == [
        "chart nvidia-device-plugin: 0.20.1, the repository has 0.20.10",
        "Kubernetes: 1.37, and there is aws-cdk.lambda-layer-kubectl-v38",
        "Kubernetes 1.37: standard support until 2027-12-01, EKS says 2027-12-03",
        "Kubernetes: EKS has 1.38, the catalog has not",
        "vpc-cni for Kubernetes 1.35: v1.22.4-eksbuild.3, EKS's default is v9.0.0-eksbuild.1",
    ]


def test_says_what_it_could_not_read_and_continues() -> None:
    class Offline(SameAsCatalog):
        def chart(self, repository: str, name: str) -> str:
            raise UnreadError(f"{repository}/index.yaml: no network")

        def cluster_versions(self) -> dict[str, date]:
            raise UnreadError("EKS: Unable to locate credentials")

    unread = lines(Offline(), "unread")
    assert len(unread) == 5
    assert unread[-1] == "EKS: Unable to locate credentials"
    assert lines(Offline(), "old") == lines(SameAsCatalog(), "old")


def test_lists_rows_that_were_read_long_ago() -> None:
    old = lines(SameAsCatalog(), "old")
    assert any(line.startswith("read 2025-12-21, 337 days ago: price of p6-b300.48xlarge") for line in old)
    assert not any("Kubernetes" in line for line in old)


def test_a_repository_that_does_not_answer_is_unread() -> None:
    with pytest.raises(UnreadError, match=r"^http://127\.0\.0\.1:9/index\.yaml: "):
        Sources().chart("http://127.0.0.1:9", "any")
