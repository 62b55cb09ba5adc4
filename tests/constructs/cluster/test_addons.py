from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks

from tests.constructs.site import properties
from training_cluster import TrainingCluster
from training_workloads.catalog.kubernetes_releases import ADDONS, AddonVersion, addon_version

UNKNOWN = "cdk-training-cluster:addon-without-a-version"


def cluster_of(stack: cdk.Stack, kubernetes_version: str) -> TrainingCluster:
    """Return a cluster with every add-on that this library can add."""
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    cluster = TrainingCluster(stack, "Cluster", vpc=vpc, kubernetes_version=kubernetes_version, efs=True)
    cluster.add_ebs_driver("Ebs")
    cluster.add_metrics_server("Metrics")
    cluster.add_monitoring("Monitoring")
    return cluster


def made(kubernetes_version: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the add-ons of a release by name, and the warnings of those without a version."""
    stack = cdk.Stack(cdk.App(), "Stack")
    cluster_of(stack, kubernetes_version)
    template = assertions.Template.from_stack(stack)
    found = assertions.Annotations.from_stack(stack).find_warning("*", assertions.Match.any_value())
    warnings = [str(each.entry.data) for each in found if UNKNOWN in str(each.entry.data)]
    return {addon["AddonName"]: addon for addon in properties(template, "AWS::EKS::Addon")}, warnings


Made = tuple[dict[str, dict[str, Any]], list[str]]


@pytest.fixture(scope="module")
def before() -> Made:
    return made("1.35")


@pytest.fixture(scope="module")
def after() -> Made:
    return made("1.36")


def test_an_upgrade_changes_the_versions_of_the_add_ons_and_nothing_else_of_them(before: Made, after: Made) -> None:
    old, new = before[0], after[0]
    assert set(old) == set(new) == set(ADDONS)
    changed = {
        name: (old[name].get("AddonVersion"), addon.get("AddonVersion"))
        for name, addon in new.items()
        if old[name] != addon
    }
    assert changed == {
        "kube-proxy": ("v1.35.3-eksbuild.21", "v1.36.0-eksbuild.21"),
        "coredns": ("v1.13.2-eksbuild.21", "v1.14.3-eksbuild.16"),
        "metrics-server": ("v0.9.0-eksbuild.7", "v0.9.0-eksbuild.11"),
        "amazon-cloudwatch-observability": (None, "v6.6.0-eksbuild.1"),
        "aws-fsx-csi-driver": ("v1.9.0-eksbuild.1", None),
        "eks-node-monitoring-agent": ("v1.7.0-eksbuild.1", None),
        "aws-efs-csi-driver": ("v3.4.1-eksbuild.1", None),
    }
    assert {name: {**addon, "AddonVersion": ""} for name, addon in new.items()} == {
        name: {**addon, "AddonVersion": ""} for name, addon in old.items()
    }


def test_an_add_on_has_no_version_where_the_release_has_none_and_a_warning_says_so(before: Made, after: Made) -> None:
    unknown = ["aws-efs-csi-driver", "aws-fsx-csi-driver", "eks-node-monitoring-agent"]
    assert before[1] == []
    assert sorted(text.split()[5] for text in after[1]) == unknown
    assert sorted(name for name, addon in after[0].items() if "AddonVersion" not in addon) == unknown
    (text,) = (text for text in after[1] if "aws-fsx-csi-driver" in text)
    assert text.startswith(
        "no version of the add-on aws-fsx-csi-driver is known for Kubernetes 1.36, so the template has none: EKS "
        "installs its default in a new cluster, and a deployed one, such as v1.9.0-eksbuild.1 of 1.35, should stay as "
        "it is. See which EKS has with 'aws eks describe-addon-versions --kubernetes-version 1.36 --addon-name "
        "aws-fsx-csi-driver', and set it in addon_versions"
    )


def test_no_add_on_of_the_newest_release_has_a_version_of_an_older_one() -> None:
    addons, warnings = made("1.37")
    assert [name for name, addon in addons.items() if "AddonVersion" in addon] == []
    assert len(addons) == len(warnings) == len(ADDONS)


def test_every_add_on_keeps_the_settings_of_the_template_and_leaves_nothing_behind(before: Made) -> None:
    assert {addon["ResolveConflicts"] for addon in before[0].values()} == {"OVERWRITE"}
    assert {addon["PreserveOnDelete"] for addon in before[0].values()} == {False}


def test_a_user_sets_another_version() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    cluster = cluster_of(stack, "1.36")
    assert cluster.node_addons
    addon = cluster.node_addons.node.find_child("aws-fsx-csi-driver").node.default_child
    assert isinstance(addon, eks.CfnAddon)
    addon.addon_version = "v1.10.0-eksbuild.1"
    (found,) = (
        each
        for each in properties(assertions.Template.from_stack(stack), "AWS::EKS::Addon")
        if each["AddonName"] == "aws-fsx-csi-driver"
    )
    assert found["AddonVersion"] == "v1.10.0-eksbuild.1"


def test_the_version_is_of_the_release_or_of_one_before_and_never_of_a_later_one() -> None:
    fsx = AddonVersion(version="v1.9.0-eksbuild.1", release="1.35")
    assert [addon_version("aws-fsx-csi-driver", name) for name in ("1.33", "1.34", "1.35", "1.37", "1.99")] == [
        None,
        None,
        fsx,
        fsx,
        None,
    ]


def test_a_named_version_is_in_the_template_and_no_warning_asks_for_it() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    versions = {
        "vpc-cni": "v1.0.0-eksbuild.1",
        "aws-fsx-csi-driver": "v2.0.0-eksbuild.1",
        "metrics-server": "v3.0.0-eksbuild.1",
    }
    cluster = TrainingCluster(stack, "Cluster", vpc=vpc, kubernetes_version="1.36", addon_versions=versions)
    cluster.add_metrics_server("Metrics")
    template = assertions.Template.from_stack(stack)
    found = {each["AddonName"]: each.get("AddonVersion") for each in properties(template, "AWS::EKS::Addon")}
    assert {name: found[name] for name in versions} == versions
    warnings = assertions.Annotations.from_stack(stack).find_warning("*", assertions.Match.any_value())
    assert not [each for each in warnings if "aws-fsx-csi-driver" in str(each.entry.data)]
