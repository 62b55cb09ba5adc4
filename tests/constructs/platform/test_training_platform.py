import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import (
    ClusterAutoscaler,
    EfaDevicePlugin,
    GpuNodeGroup,
    MpiOperator,
    NvidiaDevicePlugin,
    TrainingCluster,
    TrainingPlatform,
)
from training_workloads import InputError

MIRROR = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"


def charts(site: Site) -> set[str]:
    return {chart["Chart"] for chart in properties(site.template(), "Custom::AWSCDK-EKS-HelmChart")}


def test_a_cdk_cluster_gets_plugin_autoscaler_and_operator(site: Site) -> None:
    platform = TrainingPlatform(site.stack, "Platform", cluster=site.cluster, mirror=MIRROR)
    assert charts(site) == {"nvidia-device-plugin", "cluster-autoscaler"}
    repositories = {chart["Repository"] for chart in properties(site.template(), "Custom::AWSCDK-EKS-HelmChart")}
    assert all(repository.startswith(f"oci://{MIRROR}/") for repository in repositories)
    assert platform.efa_device_plugin is None


def test_an_update_of_nodes_waits_for_pods_that_hold_their_node(site: Site) -> None:
    TrainingPlatform(site.stack, "Platform", cluster=site.cluster)
    manifests = properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")
    documents = [json.loads(each["Manifest"]) for each in manifests]
    (budget,) = [each for found in documents for each in found if each["kind"] == "PodDisruptionBudget"]
    check_manifest(budget)
    assert budget["metadata"]["namespace"] == "default"
    assert budget["spec"] == {
        "minAvailable": 1000000,
        "selector": {"matchLabels": {"training-cluster/hold": "true"}},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }


def test_the_efa_plugin_is_defined_once(site: Site) -> None:
    platform = TrainingPlatform(site.stack, "Platform", cluster=site.cluster)
    assert platform.add_efa_device_plugin() is platform.add_efa_device_plugin()
    assert "aws-efa-k8s-device-plugin" in charts(site)


@pytest.mark.parametrize("platform_first", [True, False])
def test_a_group_with_efa_brings_the_plugin_in_any_order(platform_first: bool, site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc)
    if platform_first:
        cluster.add_platform("Platform")
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    if not platform_first:
        cluster.add_platform("Platform")
    assert cluster.platform
    assert cluster.platform.efa_device_plugin


@pytest.mark.parametrize(("method", "platform_first"), [(True, True), (True, False), (False, True)])
def test_a_group_of_ones_own_brings_the_plugin_too(method: bool, platform_first: bool, site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc)

    def add_platform() -> None:
        if method:
            cluster.add_platform("Platform")
        else:
            TrainingPlatform(site.stack, "Platform", cluster=cluster)

    if platform_first:
        add_platform()
    GpuNodeGroup(site.stack, "Gpu", cluster=cluster, instance_type="p4d.24xlarge")
    if not platform_first:
        add_platform()
    assert "aws-efa-k8s-device-plugin" in charts(site)


def test_a_group_without_efa_brings_no_plugin(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc)
    cluster.add_gpu_node_group("gpu", instance_type="g5.xlarge")
    assert cluster.add_platform("Platform").efa_device_plugin is None


def test_the_autoscaler_has_the_release_of_the_cluster(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc, kubernetes_version="1.34")
    cluster.add_platform("Platform")
    (autoscaler,) = [
        chart
        for chart in properties(site.template(), "Custom::AWSCDK-EKS-HelmChart")
        if chart["Chart"] == "cluster-autoscaler"
    ]
    assert "v1.34.5@sha256:5c3a5644" in str(autoscaler["Values"])


def test_rejects_a_second_operator(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc)
    cluster.add_platform("Platform")
    with pytest.raises(InputError, match="'Site/Operator' is 'a second MPI operator'"):
        MpiOperator(site.stack, "Operator", cluster=cluster)


@pytest.mark.parametrize("part", [NvidiaDevicePlugin, EfaDevicePlugin, ClusterAutoscaler, MpiOperator])
def test_every_part_rejects_an_invalid_mirror(part: Any, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        part(site.stack, "Part", cluster=site.cluster, mirror="docker.io/x")
    assert [problem.path for problem in caught.value.problems] == [("mirror",)]


def test_every_part_waits_for_the_node_addons(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc)
    cluster.add_platform("Platform").add_efa_device_plugin()
    made = site.template()
    addons = made.find_resources("AWS::EKS::Addon").items()
    (driver,) = [id for id, addon in addons if addon["Properties"]["AddonName"] == "aws-fsx-csi-driver"]
    kinds = ("Custom::AWSCDK-EKS-HelmChart", "Custom::AWSCDK-EKS-KubernetesResource")
    parts = [part for kind in kinds for part in made.find_resources(kind).values()]
    assert len(parts) == 6
    assert all(driver in part["DependsOn"] for part in parts)


def test_an_imported_cluster_has_the_same_platform() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    cluster = TrainingCluster.from_cluster_attributes(
        stack,
        "Imported",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=ec2.Vpc(stack, "Vpc"),
    )
    cluster.add_platform("Platform")
    found = properties(assertions.Template.from_stack(stack), "Custom::AWSCDK-EKS-HelmChart")
    assert {chart["Chart"] for chart in found} == {"nvidia-device-plugin", "cluster-autoscaler"}
