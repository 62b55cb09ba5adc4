"""The wiring of an own app, of the complete cluster and of constructs alone is the same."""

import runpy
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from training_cluster import (
    ClusterAutoscaler,
    ClusterConfig,
    CompleteTrainingCluster,
    EfaDevicePlugin,
    GpuNodeGroup,
    LustreFileSystem,
    LustreVolume,
    MpiOperator,
    NvidiaDevicePlugin,
    TrainingBucket,
    TrainingCluster,
    TrainingNetwork,
)
from training_workloads import InputError

ADMIN = "arn:aws:iam::111122223333:role/Admin"

Resources = Mapping[str, Mapping[str, Any]]


def resources(stack: cdk.Stack) -> Resources:
    return dict(assertions.Template.from_stack(stack).to_json()["Resources"])


@pytest.fixture(scope="module")
def own_app() -> Resources:
    app = runpy.run_path(str(Path(__file__).parents[2] / "examples/own_app.py"))["app"]
    return resources(app.node.find_child("MyTraining"))


def waits(found: Resources) -> dict[str, set[str]]:
    return {id: set(resource.get("DependsOn", ())) for id, resource in found.items()}


def test_the_complete_cluster_has_the_wiring_of_an_own_app(own_app: Resources) -> None:
    stack = cdk.Stack(cdk.App(), "MyTraining")
    group = {"instance_type": "p4d.24xlarge", "max_size": 4}
    config = ClusterConfig.model_validate({"node_groups": {"gpu": group}, "admin_arns": (ADMIN,)})
    CompleteTrainingCluster(stack, "Default", config=config, bucket=TrainingBucket(stack, "Bucket"))
    complete = waits(resources(stack))
    # CDK omits "Default" from logical ids, so that those of both are the same.
    assert {id: complete.get(id) for id in own_app} == waits(own_app)
    assert any(waits(own_app).values())


def test_the_complete_cluster_has_the_options_of_its_configuration() -> None:
    stack = cdk.Stack(cdk.App(), "MyTraining")
    nodes = {"gpu": {"instance_type": "g5.xlarge", "max_size": 3}}
    options = {
        "job_queue": {"queue_name": "research", "max_jobs": 3},
        "ebs": True,
        "metrics_server": True,
        "gpu_details": True,
    }
    config = ClusterConfig.model_validate({"node_groups": nodes, "admin_arns": (ADMIN,), **options})
    complete = CompleteTrainingCluster(stack, "Default", config=config, bucket=TrainingBucket(stack, "Bucket"))
    queue = complete.cluster.job_queue
    assert queue
    assert [(nodes.group, nodes.nodes) for nodes in queue.nodes] == [("gpu", 3)]
    assert (queue.queue_name, queue.max_jobs) == ("research", 3)
    found = assertions.Template.from_stack(stack)
    found.has_resource_properties("Custom::AWSCDK-EKS-HelmChart", {"Chart": "dcgm-exporter"})
    for name in ("aws-ebs-csi-driver", "metrics-server"):
        found.has_resource_properties("AWS::EKS::Addon", {"AddonName": name})


def test_rejects_a_mapping_in_the_place_of_a_configuration() -> None:
    stack = cdk.Stack(cdk.App(), "MyTraining")
    with pytest.raises(InputError) as caught:
        CompleteTrainingCluster(stack, "Cluster", config={"nat": True}, bucket="data")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("config", "node_groups"), ("bucket",)]


def test_constructs_alone_have_the_wiring_of_an_own_app(own_app: Resources) -> None:
    stack = cdk.Stack(cdk.App(), "Alone")
    network = TrainingNetwork(stack, "Network")
    cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=[ADMIN])
    GpuNodeGroup(stack, "Gpu", cluster=cluster, instance_type="p4d.24xlarge", max_size=4)
    bucket = TrainingBucket(stack, "Bucket")
    lustre = LustreFileSystem(stack, "Lustre", vpc=network, subnet=network.training_subnet, bucket=bucket)
    LustreVolume(stack, "LustreVolume", cluster=cluster, file_system=lustre)
    for construct in (NvidiaDevicePlugin, EfaDevicePlugin, ClusterAutoscaler, MpiOperator):
        construct(stack, construct.__name__, cluster=cluster)
    assert pairs(resources(stack)) == pairs(own_app)


def pairs(found: Resources) -> Counter[tuple[str, str]]:
    """Count the dependencies by what the resources are, not by their ids."""
    return Counter((kind(found[id]), kind(found[other])) for id, others in waits(found).items() for other in others)


def kind(resource: Mapping[str, Any]) -> str:
    properties = resource.get("Properties", {})
    return f"{resource['Type']} {properties.get('AddonName') or properties.get('Chart') or ''}"


def test_gpu_nodes_wait_for_the_network_and_volumes_for_their_driver(own_app: Resources) -> None:
    expected = {
        ("AWS::EKS::Nodegroup ", "AWS::EKS::Addon vpc-cni"),
        ("Custom::AWSCDK-EKS-KubernetesResource ", "AWS::EKS::Addon aws-fsx-csi-driver"),
        ("Custom::AWSCDK-EKS-HelmChart cluster-autoscaler", "AWS::EKS::Addon coredns"),
    }
    assert expected <= set(pairs(own_app))
