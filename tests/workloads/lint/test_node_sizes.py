"""What the lint knows of the nodes that a pod selects."""

from decimal import Decimal
from typing import Any

import pytest

from tests.workloads.lint.sample_job import GONE, changed
from training_workloads.lint.node_types import NodeSize, node_sizes, node_types, selected_labels, type_names
from training_workloads.manifests.pods import PodGroup
from training_workloads.mpijob.view import MpiJobView

TYPE = "node.kubernetes.io/instance-type"


def pods(*terms: list[dict[str, Any]], **selector: str) -> PodGroup:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": expressions} for expressions in terms]
            }
        }
    }
    selected = {"WORKER-POD nodeSelector": selector or GONE, "WORKER-POD affinity": affinity}
    return MpiJobView(document=changed(selected)).worker


def within(*names: str, key: str = TYPE, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(names)}


def test_labels_of_selector_and_affinity_are_found_with_their_paths() -> None:
    group = pods([within("a", "b", key="k"), within("c", operator="NotIn")], zone="z")
    labels = list(selected_labels(group))
    assert [(key, value) for _, key, value in labels] == [("zone", "z"), ("k", "a"), ("k", "b")]
    assert labels[0][0][-2:] == ("nodeSelector", "zone")
    assert labels[2][0][-4:] == ("matchExpressions", 0, "values", 1)


def test_types_are_known_only_where_no_other_is_allowed() -> None:
    assert [name for _, name in type_names(pods([within("p4d.24xlarge")], [within("p5.48xlarge")]))] == [
        "p4d.24xlarge",
        "p5.48xlarge",
    ]
    assert type_names(pods([within("p4d.24xlarge")], [within("a", key="zone")])) == []
    assert node_types(pods([within("p4d.24xlarge", "p9.99xlarge")])) == []
    assert [one.name for one in node_types(pods([within("ml.p4d.24xlarge")]))] == ["p4d.24xlarge"]


@pytest.mark.parametrize(
    ("name", "cpus", "memory_gib"),
    [("m7i.xlarge", 4, 16), ("c6a.12xlarge", 48, 96), ("r5.large", 2, 16), ("p5.48xlarge", 192, 2048)],
)
def test_the_size_of_a_node_follows_from_its_name(name: str, cpus: int, memory_gib: int) -> None:
    assert [one[:3] for one in node_sizes(pods([within(name)]))] == [(name, cpus, memory_gib)]


@pytest.mark.parametrize("name", ["c5n.xlarge", "m7i-flex.xlarge", "m5zn.xlarge", "x2idn.16xlarge", "m4.xlarge"])
def test_a_family_with_another_ratio_has_no_size(name: str) -> None:
    assert node_sizes(pods([within(name)])) == []


def test_a_node_leaves_less_to_pods_than_it_has() -> None:
    size = NodeSize("", 192, 2048)
    # 550m, as the kubelet of a node with 192 CPUs shows.
    assert size.cpus_for_pods == Decimal("191.45")
    assert 2015 < size.memory_gib_for_pods < 2016
