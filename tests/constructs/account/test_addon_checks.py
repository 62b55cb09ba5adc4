from typing import Any

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.addon_checks import addon_versions_are_offered
from training_cluster.account.check_result import CheckResult

INSTALLED = [
    "vpc-cni",
    "kube-proxy",
    "eks-pod-identity-agent",
    "coredns",
    "aws-fsx-csi-driver",
    "eks-node-monitoring-agent",
    "amazon-cloudwatch-observability",
]


def answer(account: StubbedAccount, name: str, *versions: str, default: str = "") -> None:
    found = [
        {
            "addonVersion": each,
            "compatibilities": [{"clusterVersion": "1.36", "defaultVersion": each == default}],
        }
        for each in versions
    ]
    addons = [{"addonName": name, "addonVersions": found}] if versions else []
    expected = {"kubernetesVersion": "1.36", "addonName": name}
    account.answer("eks", "describe_addon_versions", {"addons": addons}, expected)


def first(*versions: str, default: str = "", **values: Any) -> CheckResult:
    """Return the row of vpc-cni, whose version in the catalog for 1.36 is v1.22.4-eksbuild.3."""
    account = StubbedAccount()
    answer(account, "vpc-cni", *versions, default=default)
    return next(addon_versions_are_offered(deployment(account, kubernetes_version="1.36", **values)))


def test_every_add_on_of_the_cluster_is_looked_up() -> None:
    account = StubbedAccount()
    for name in INSTALLED:
        answer(account, name, "v1.0.0-eksbuild.1", default="v1.0.0-eksbuild.1")
    rows = list(addon_versions_are_offered(deployment(account, kubernetes_version="1.36")))
    assert [each.check for each in rows] == [f"add-on {name}" for name in INSTALLED]
    # The catalog has no version of this one for 1.36.
    driver = rows[4]
    assert (driver.state, driver.needed, driver.actual) == (
        "ok",
        "EKS's default",
        "v1.0.0-eksbuild.1 is EKS's default",
    )
    account.all_asked()


@pytest.mark.parametrize(
    ("versions", "default", "chosen", "state", "actual"),
    [
        (
            ["v1.22.4-eksbuild.3"],
            "v1.22.4-eksbuild.3",
            {},
            "ok",
            "v1.22.4-eksbuild.3 is EKS's default",
        ),
        (
            ["v1.23.0-eksbuild.1", "v1.22.4-eksbuild.3"],
            "v1.23.0-eksbuild.1",
            {},
            "ok",
            "offered; its default is v1.23.0-eksbuild.1",
        ),
        (
            ["v1.23.0-eksbuild.1"],
            "v1.23.0-eksbuild.1",
            {},
            "failed",
            "EKS does not offer v1.22.4-eksbuild.3 for Kubernetes 1.36; its default is v1.23.0-eksbuild.1",
        ),
        (
            ["v1.23.0-eksbuild.1", "v1.22.4-eksbuild.3"],
            "v1.22.4-eksbuild.3",
            {"vpc-cni": "v1.23.0-eksbuild.1"},
            "ok",
            "offered; its default is v1.22.4-eksbuild.3",
        ),
        (
            ["v1.22.4-eksbuild.3"],
            "v1.22.4-eksbuild.3",
            {"vpc-cni": "v9.0.0-eksbuild.1"},
            "failed",
            "EKS does not offer v9.0.0-eksbuild.1 for Kubernetes 1.36; its default is v1.22.4-eksbuild.3",
        ),
        ([], "", {}, "failed", "EKS has no version of it for Kubernetes 1.36"),
    ],
)
def test_a_version_is_compared_with_those_of_eks(
    versions: list[str], default: str, chosen: dict[str, str], state: str, actual: str
) -> None:
    row = first(*versions, default=default, addon_versions=chosen)
    assert (row.state, row.actual) == (state, actual)
    if state == "failed" and default:
        assert row.remedy == f"set addon_versions.vpc-cni to {default}"
