import pytest

from tests.constructs.instance_types import DISKLESS
from training_workloads import INSTANCE_TYPES
from training_workloads.catalog.nodes import (
    disk_gib_for_pods,
    efa_hugepages,
    gpu_toleration,
    group_labels,
    image_disk_gb,
    network_labels,
    node_devices,
    node_labels,
    node_resources,
    vcpus_left_to_daemons,
)


def test_a_node_with_efa_offers_gpus_efa_devices_and_huge_pages() -> None:
    assert node_devices(INSTANCE_TYPES["p4d.24xlarge"], efa=True) == {
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "4",
        "hugepages-2Mi": "5120Mi",
    }
    assert efa_hugepages() == 2560


def test_a_node_without_efa_offers_gpus_only() -> None:
    assert node_devices(INSTANCE_TYPES["p4d.24xlarge"], efa=False) == {"nvidia.com/gpu": "8"}


@pytest.mark.parametrize(
    ("name", "gib"),
    # 8 local disks of 3,800 GB, and a root volume of 200 GiB: without 1 %, a tenth of the rest, and 1 GiB.
    [("p5.48xlarge", 25224), ("p3.16xlarge", 177)],
)
def test_the_disk_leaves_less_than_its_size_to_pods(name: str, gib: int) -> None:
    assert disk_gib_for_pods(INSTANCE_TYPES[name]) == gib
    assert node_resources(INSTANCE_TYPES[name], efa=False) == {"nvidia.com/gpu": "8", "ephemeral-storage": f"{gib}Gi"}


@pytest.mark.parametrize(
    ("name", "efa", "labels"),
    [
        (
            "p4d.24xlarge",
            True,
            {
                "nvidia.com/gpu.present": "true",
                "k8s.amazonaws.com/accelerator": "nvidia-a100",
                "vpc.amazonaws.com/efa.present": "true",
            },
        ),
        ("g6.xlarge", False, {"nvidia.com/gpu.present": "true", "k8s.amazonaws.com/accelerator": "nvidia-l4"}),
        # A label has no blanks.
        (
            "g7.2xlarge",
            False,
            {"nvidia.com/gpu.present": "true", "k8s.amazonaws.com/accelerator": "nvidia-rtx-pro-4500"},
        ),
        ("m5.xlarge", False, {}),
    ],
)
def test_labels_name_the_devices(name: str, efa: bool, labels: dict[str, str]) -> None:
    assert node_labels(INSTANCE_TYPES[name], efa=efa) == labels


def test_a_group_has_its_name_as_a_label() -> None:
    assert group_labels("gpu", in_placement_group=False) == {"training-cluster/node-group": "gpu"}
    assert group_labels("gpu", in_placement_group=True) == {
        "training-cluster/node-group": "gpu",
        "training-cluster/placement-group": "gpu",
    }


def test_tolerates_the_taint_of_gpu_nodes() -> None:
    assert gpu_toleration() == {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize(("name", "vcpus"), [("p5.4xlarge", 2), ("g5.8xlarge", 4), ("p4d.24xlarge", 4)])
def test_small_nodes_reserve_fewer_vcpus_for_daemons(name: str, vcpus: int) -> None:
    assert vcpus_left_to_daemons(INSTANCE_TYPES[name]) == vcpus


@pytest.mark.parametrize(
    ("instance_type", "last"),
    [
        ("p4d.24xlarge", "topology.k8s.aws/network-node-layer-3"),
        ("p5.48xlarge", "topology.k8s.aws/network-node-layer-3"),
        ("g6e.xlarge", "topology.k8s.aws/network-node-layer-3"),
        ("p6-b200.48xlarge", "topology.k8s.aws/network-node-layer-4"),
    ],
)
def test_the_narrowest_layer_is_last(instance_type: str, last: str) -> None:
    assert network_labels(instance_type)[0] == "topology.k8s.aws/network-node-layer-1"
    assert network_labels(instance_type)[-1] == last


@pytest.mark.parametrize("instance_type", ["p5.4xlarge", "p3.16xlarge", "g5.48xlarge", "m5.xlarge"])
def test_ec2_does_not_report_the_place_of_other_types(instance_type: str) -> None:
    assert network_labels(instance_type) == ()


def test_images_are_on_the_local_disks_or_else_on_the_root_volume() -> None:
    assert image_disk_gb(INSTANCE_TYPES["p4d.24xlarge"]) == 8000
    # 200 GiB.
    assert image_disk_gb(INSTANCE_TYPES[DISKLESS]) == 214
