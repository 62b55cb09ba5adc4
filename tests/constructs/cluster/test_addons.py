from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.site import properties
from training_cluster import TrainingCluster


def made(kubernetes_version: str) -> dict[str, dict[str, Any]]:
    stack = cdk.Stack(cdk.App(), "Stack")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    TrainingCluster(stack, "Cluster", vpc=vpc, kubernetes_version=kubernetes_version, efs=True)
    template = assertions.Template.from_stack(stack)
    return {addon["AddonName"]: addon for addon in properties(template, "AWS::EKS::Addon")}


@pytest.fixture(scope="module")
def before() -> dict[str, dict[str, Any]]:
    return made("1.35")


def test_an_upgrade_changes_the_versions_of_the_add_ons_and_nothing_else_of_them(
    before: dict[str, dict[str, Any]],
) -> None:
    after = made("1.36")
    changed = {
        name: (before[name].get("AddonVersion"), addon.get("AddonVersion"))
        for name, addon in after.items()
        if before[name] != addon
    }
    assert changed == {
        "kube-proxy": ("v1.35.3-eksbuild.21", "v1.36.0-eksbuild.21"),
        "coredns": ("v1.13.2-eksbuild.21", "v1.14.3-eksbuild.16"),
        "aws-fsx-csi-driver": ("v1.9.0-eksbuild.1", None),
        "eks-node-monitoring-agent": ("v1.7.0-eksbuild.1", None),
        "aws-efs-csi-driver": ("v3.4.1-eksbuild.1", None),
    }
    assert {name: {**addon, "AddonVersion": ""} for name, addon in after.items()} == {
        name: {**addon, "AddonVersion": ""} for name, addon in before.items()
    }


def test_an_update_keeps_the_settings_of_the_template_and_leaves_nothing_behind(
    before: dict[str, dict[str, Any]],
) -> None:
    assert {addon["ResolveConflicts"] for addon in before.values()} == {"OVERWRITE"}
    assert not any("PreserveOnDelete" in addon for addon in before.values())
