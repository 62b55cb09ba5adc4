"""The `add_…` methods in any order, and twice."""

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.site import properties
from training_cluster import ImportedCluster, TrainingCluster
from training_workloads import InputError


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Site")


@pytest.fixture
def cluster(stack: cdk.Stack) -> ImportedCluster:
    return TrainingCluster.from_cluster_attributes(
        stack,
        "Cluster",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=ec2.Vpc(stack, "Vpc", max_azs=2),
    )


def dashboard(stack: cdk.Stack) -> list[str]:
    """Return the titles of the graphs."""
    (made,) = properties(assertions.Template.from_stack(stack), "AWS::CloudWatch::Dashboard")
    body = "".join(
        part if isinstance(part, str) else "known-at-deployment" for part in made["DashboardBody"]["Fn::Join"][1]
    )
    return [widget["properties"]["title"] for widget in json.loads(body)["widgets"]]


def alarms(stack: cdk.Stack) -> dict[str, Any]:
    """Return the alarms by the last part of their path, and whether they mail."""
    found = assertions.Template.from_stack(stack).find_resources("AWS::CloudWatch::Alarm")
    return {
        id[:-8].removeprefix("ClusterMonitoringAlarms"): each["Properties"].get("AlarmActions")
        for id, each in found.items()
    }


@pytest.mark.parametrize("lustre_first", [True, False])
def test_monitoring_knows_the_lustre_in_any_order_of_the_calls(
    lustre_first: bool, stack: cdk.Stack, cluster: ImportedCluster
) -> None:
    if lustre_first:
        cluster.add_lustre("Lustre")
    monitoring = cluster.add_monitoring("Monitoring", alarm_email="team@example.com")
    if not lustre_first:
        cluster.add_lustre("Lustre")
    assert monitoring.file_system is cluster.file_system
    found = alarms(stack)
    assert set(found) == {"GpusIdle", "LustreNearlyFull", "NodeNotReady", "GpuErrors"}
    assert found["LustreNearlyFull"] == found["GpusIdle"]
    titles = dashboard(stack)
    assert "Lustre free space (%)" in titles
    assert (
        titles.index("EFA packets dropped per node")
        < titles.index("Lustre free space (%)")
        < titles.index("Node ready (1) or not (0)")
    )
    assert ("Alarm of Lustre" in titles) is not lustre_first
    assert found["GpusIdle"]


@pytest.mark.parametrize("before", [0, 1, 2])
def test_each_lustre_has_its_alarm_and_its_graphs(before: int, stack: cdk.Stack, cluster: ImportedCluster) -> None:
    ids, claims = ["Lustre", "Second"], ["training-lustre", "second"]
    for number in range(before):
        cluster.add_lustre(ids[number], claim=claims[number])
    monitoring = cluster.add_monitoring("Monitoring", alarm_email="team@example.com")
    for number in range(before, 2):
        cluster.add_lustre(ids[number], claim=claims[number])
    assert [each.node.id for each in cluster.file_systems] == ids
    assert cluster.file_system is monitoring.file_system is cluster.file_systems[0]
    found = alarms(stack)
    assert set(found) == {"GpusIdle", "LustreNearlyFull", "FurtherLustreNearlyFull2", "NodeNotReady", "GpuErrors"}
    assert found["FurtherLustreNearlyFull2"] == found["LustreNearlyFull"]
    titles = dashboard(stack)
    assert titles.index("Lustre free space (%)") < titles.index("Second free space (%)")


def test_monitoring_rejects_a_lustre_twice(cluster: ImportedCluster) -> None:
    first = cluster.add_lustre("Lustre")
    monitoring = cluster.add_monitoring("Monitoring")
    with pytest.raises(InputError) as caught:
        monitoring.add_lustre(first)
    assert str(caught.value) == (
        "'file_system' is a LustreFileSystem, but the monitoring has it; add each file system once"
    )


def test_a_second_call_adds_namespaces(stack: cdk.Stack, cluster: ImportedCluster) -> None:
    first = cluster.add_namespaces(["team"])
    assert cluster.add_namespaces(["team", "research"]) is first
    assert first.names == ["research", "team"]
    made = properties(assertions.Template.from_stack(stack), "Custom::AWSCDK-EKS-KubernetesResource")
    documents = [document for each in made for document in json.loads(each["Manifest"])]
    names = [each["metadata"]["name"] for each in documents if each["kind"] == "Namespace"]
    assert sorted(names) == ["research", "team"]


@pytest.mark.parametrize("what", ["platform", "monitoring"])
@pytest.mark.parametrize("id", ["First", "Second"])
def test_rejects_a_second_platform_and_monitoring(what: str, id: str, cluster: ImportedCluster) -> None:
    add = getattr(cluster, f"add_{what}")
    add("First")
    with pytest.raises(InputError) as caught:
        add(id)
    assert str(caught.value) == (
        f"'add_{what}' is 'a second {what}', but Site/Cluster/First is that of the cluster; remove one of the two calls"
    )
