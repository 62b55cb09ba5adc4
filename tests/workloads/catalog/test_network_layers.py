import pytest

from training_workloads.catalog.network_layers import network_labels


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
