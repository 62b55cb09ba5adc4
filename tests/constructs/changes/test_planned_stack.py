from typing import Any

import pytest

from training_cluster.changes.planned_stack import PlannedStack


def template(size: int, labels: dict[str, str]) -> dict[str, Any]:
    group = {"ScalingConfig": {"MinSize": 0, "MaxSize": size}, "Labels": labels}
    return {"Resources": {"Group": {"Type": "AWS::EKS::Nodegroup", "Properties": group}}}


@pytest.mark.parametrize(
    ("labels", "key"),
    [({"training-cluster/node-group": "gpu"}, "node_groups.gpu.max_size"), ({}, "system_nodes.max_size")],
)
def test_a_size_is_of_its_section(labels: dict[str, str], key: str) -> None:
    stack = PlannedStack(name="Stack", deployed=None, old=template(2, labels), new=template(4, labels))
    (change,) = stack.changes
    assert stack.keys(change) == (key,)
