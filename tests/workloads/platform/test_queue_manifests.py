from typing import Any

import jsonschema
import pytest

from tests.workloads.platform.kueue_schema import check_kueue_object
from training_workloads import gpu_instance_type
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.jobs.worker_resources import worker_resources
from training_workloads.platform.queue_manifests import (
    QueuedNodes,
    cluster_queue,
    flavor_name,
    launcher_flavor,
    launcher_quota,
    local_queue,
    queue_spec,
    topology_name,
    topology_of,
)

GPU_TYPES = [name for name, one in INSTANCE_TYPES.items() if one.gpus]


def queued(
    instance_type: str = "p4d.24xlarge", nodes: int = 2, *, efa: bool = True, in_placement_group: bool = False
) -> QueuedNodes:
    instance = gpu_instance_type(instance_type)
    interfaces = instance.efa_interfaces if efa else 0
    return QueuedNodes(
        group="Gpu_1",
        instance=instance,
        nodes=nodes,
        efa_interfaces=interfaces,
        capacity_type="ON_DEMAND",
        in_placement_group=in_placement_group,
    )


def amounts(nodes: QueuedNodes) -> dict[str, Any]:
    return amounts_of(nodes.quota())


def amounts_of(flavor: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each["nominalQuota"] for each in flavor["resources"]}


def test_a_flavor_has_the_labels_and_the_taint_of_its_nodes() -> None:
    flavor = queued().resource_flavor()
    check_kueue_object(flavor)
    assert flavor["metadata"] == {"name": "gpu-1"}
    assert flavor["spec"] == {
        "nodeLabels": {
            "training-cluster/node-group": "Gpu_1",
            "node.kubernetes.io/instance-type": "p4d.24xlarge",
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
        },
        "nodeTaints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
    }


def test_the_quota_is_that_of_all_nodes_without_what_daemons_take() -> None:
    assert amounts(queued(nodes=2)) == {
        "cpu": 184,
        "memory": "2072Gi",
        "nvidia.com/gpu": 16,
        "vpc.amazonaws.com/efa": 8,
        "hugepages-2Mi": "10240Mi",
    }
    assert amounts(queued(efa=False))["vpc.amazonaws.com/efa"] == 0
    assert amounts(queued(efa=False))["hugepages-2Mi"] == "0Mi"


@pytest.mark.parametrize("instance_type", GPU_TYPES)
@pytest.mark.parametrize("efa", [True, False])
def test_a_worker_on_each_node_fits_in_the_quota(instance_type: str, efa: bool) -> None:
    worker = worker_resources(
        gpu_instance_type(instance_type), gpu_instance_type(instance_type).gpus, None if efa else 0
    )
    quota = amounts(queued(instance_type, nodes=1))
    for name, amount in worker.to_wire()["requests"].items():
        assert number(amount) <= number(quota[name]), name


def number(amount: int | str) -> int:
    return int(str(amount).removesuffix("Gi").removesuffix("Mi"))


def test_launchers_have_a_separate_quota_and_no_gpus() -> None:
    quota = {each["name"]: each["nominalQuota"] for each in launcher_quota(13)["resources"]}
    assert quota == {
        "cpu": "3250m",
        "memory": "26Gi",
        "nvidia.com/gpu": 0,
        "vpc.amazonaws.com/efa": 0,
        "hugepages-2Mi": 0,
    }
    assert launcher_flavor()["spec"] == {}
    check_kueue_object(launcher_flavor())
    check_kueue_object(launcher_flavor("network-layers-0"))


def test_the_queue_and_its_entrances_are_objects_of_kueue() -> None:
    queue = cluster_queue("gpu", queue_spec([queued().quota(), launcher_quota(13)]))
    check_kueue_object(queue)
    assert queue["spec"]["namespaceSelector"] == {}
    entrance = local_queue("gpu", "team")
    check_kueue_object(entrance)
    assert entrance["metadata"] == {"name": "gpu", "namespace": "team"}
    assert entrance["spec"] == {"clusterQueue": "gpu"}


def test_a_flavor_has_the_name_of_the_group_in_the_letters_of_kubernetes() -> None:
    assert (flavor_name("Gpu_1"), flavor_name("gpu-")) == ("gpu-1", "gpu")


@pytest.mark.parametrize("placed", [True, False])
@pytest.mark.parametrize(
    ("instance_type", "layers"), [("p4d.24xlarge", 3), ("p6-b200.48xlarge", 4), ("g5.48xlarge", 0)]
)
def test_a_topology_has_the_levels_that_the_nodes_have(placed: bool, instance_type: str, layers: int) -> None:
    levels = queued(instance_type, in_placement_group=placed).levels
    topology = topology_of(levels)
    check_kueue_object(topology)
    labels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    network = [f"topology.k8s.aws/network-node-layer-{layer}" for layer in range(1, layers + 1)]
    group, name = (["training-cluster/placement-group"], "placement-group-") if placed else ([], "")
    assert labels == [*group, *network, "kubernetes.io/hostname"]
    assert topology_name(levels) == topology["metadata"]["name"] == f"{name}network-layers-{layers}"
    check_kueue_object(queued(instance_type).resource_flavor(topology_name(levels)))


def test_a_team_has_a_share_of_the_nodes_and_lends_what_it_does_not_use() -> None:
    half = queued(nodes=2).share(8)
    spec = queue_spec([half, launcher_quota(4)], namespace="vision", cohort="gpu")
    check_kueue_object(cluster_queue("gpu-vision", spec))
    assert amounts_of(half) == {
        "cpu": 92,
        "memory": "1036Gi",
        "nvidia.com/gpu": 8,
        "vpc.amazonaws.com/efa": 4,
        "hugepages-2Mi": "5120Mi",
    }
    assert spec["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "vision"}}
    assert spec["cohortName"] == "gpu"
    assert spec["preemption"] == {"reclaimWithinCohort": "Any"}
    assert local_queue("gpu", "vision", "gpu-vision")["spec"] == {"clusterQueue": "gpu-vision"}


@pytest.mark.parametrize("gpus", [1, 3, 8, 16])
def test_the_shares_and_the_rest_are_the_whole(gpus: int) -> None:
    nodes = queued(nodes=2)
    shares = [amounts_of(nodes.share(gpus)), amounts_of(nodes.quota(without=[gpus]))]
    assert {name: sum(number(share[name]) for share in shares) for name in shares[0]} == {
        name: number(amount) for name, amount in amounts(nodes).items()
    }


def test_the_schema_rejects_what_kueue_rejects() -> None:
    renamed = {**local_queue("gpu", "team"), "apiVersion": "kueue.x-k8s.io/v1beta1"}
    for wrong in (renamed, {**queued().resource_flavor(), "spec": {"topology": "a"}}):
        with pytest.raises(jsonschema.ValidationError):
            check_kueue_object(wrong)
    short = {**queued().quota(), "resources": queued().quota()["resources"][:2]}
    queue = cluster_queue("gpu", queue_spec([short]))
    with pytest.raises(AssertionError):
        check_kueue_object(queue)
