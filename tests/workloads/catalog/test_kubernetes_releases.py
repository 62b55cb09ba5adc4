from datetime import date
from pathlib import Path

import pytest

from training_workloads.catalog.kubernetes_releases import ADDONS, KUBERNETES_RELEASES, KubernetesRelease
from training_workloads.catalog.versions import KUBERNETES_VERSION, KUBERNETES_VERSIONS

RELEASES = list(KUBERNETES_RELEASES.values())

each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda one: one.name)


def test_eks_runs_seven_releases_and_new_clusters_have_the_newest_four() -> None:
    assert list(KUBERNETES_RELEASES) == ["1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]
    assert tuple(KUBERNETES_RELEASES)[-4:] == KUBERNETES_VERSIONS
    assert KUBERNETES_VERSION in KUBERNETES_VERSIONS


@each_release
def test_extended_support_lasts_twelve_months(release: KubernetesRelease) -> None:
    standard = release.standard_support_ends
    assert release.extended_support_ends == standard.replace(year=standard.year + 1)


@each_release
def test_every_add_on_has_a_version_or_a_reason(release: KubernetesRelease) -> None:
    assert set(release.addons) <= set(ADDONS)
    assert set(ADDONS) - set(release.addons) == set(ADDONS) & set(release.unknown)
    assert all(release.unknown.values())
    assert all(version.startswith("v") and "-eksbuild." in version for version in release.addons.values())


@each_release
def test_kube_proxy_and_the_autoscaler_are_of_the_release(release: KubernetesRelease) -> None:
    # Both follow the API server's minor version; where that was not read, the row says so.
    if "kube-proxy" in release.addons:
        assert release.addons["kube-proxy"].startswith(f"v{release.name}.")
    if "autoscaler_image" not in release.unknown:
        assert release.autoscaler_image.tag.startswith(f"v{release.name}.")


@each_release
def test_every_row_has_sources_and_a_date(release: KubernetesRelease) -> None:
    assert all(source.startswith("https://") for source in release.sources)
    assert release.checked >= date(2026, 11, 23)


def test_the_page_has_the_dates_of_the_catalog(root: Path) -> None:
    page = (root / "docs/upgrade.md").read_text()
    for one in RELEASES:
        about = "about " if "standard_support_ends" in one.unknown else ""
        assert f"| {one.name} | {about}{one.standard_support_ends} | {about}{one.extended_support_ends} | " in page
        assert f" | {len(one.addons)} of {len(ADDONS)} |" in page
