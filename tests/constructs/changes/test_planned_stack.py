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


def test_a_launch_template_is_of_the_group_that_uses_it() -> None:
    def stack(group: str) -> dict[str, Any]:
        nodes = {"LaunchTemplate": {"Id": {"Ref": "Template"}}, "Labels": {"training-cluster/node-group": "gpu"}}
        data = {"LaunchTemplateData": {"Placement": {"GroupName": group}}}
        resources = {"Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": data}}
        return {"Resources": {**resources, "Group": {"Type": "AWS::EKS::Nodegroup", "Properties": nodes}}}

    planned = PlannedStack(name="Stack", deployed=None, old=stack("one"), new=stack("two"))
    (change,) = planned.changes
    assert planned.keys(change) == ("node_groups.gpu.placement_group",)


def test_the_system_nodes_have_no_desired_size() -> None:
    old, new = template(2, {}), template(2, {})
    new["Resources"]["Group"]["Properties"]["ScalingConfig"]["DesiredSize"] = 3
    planned = PlannedStack(name="Stack", deployed=None, old=old, new=new)
    assert planned.keys(planned.changes[0]) == ("system_nodes.min_size",)


@pytest.mark.parametrize(
    ("kind", "property", "key"),
    [
        ("AWS::EKS::Cluster", "RoleArn", "cluster_role"),
        ("AWS::EKS::Cluster", "DeletionProtection", "deletion_protection"),
        ("AWS::EKS::Nodegroup", "NodeRole", "node_role"),
        ("AWS::IAM::Role", "PermissionsBoundary", "permissions_boundary"),
    ],
)
def test_a_property_has_its_key(kind: str, property: str, key: str) -> None:
    old, new = ({"Resources": {"One": {"Type": kind, "Properties": {property: value}}}} for value in ("a", "b"))
    planned = PlannedStack(name="Stack", deployed=None, old=old, new=new)
    assert planned.keys(planned.changes[0]) == (key,)


def test_a_type_that_only_the_deployment_knows_is_not_named() -> None:
    old, new = template(2, {}), template(4, {})
    for each in (old, new):
        each["Resources"]["Group"]["Properties"]["InstanceTypes"] = [{"Ref": "Type"}]
    planned = PlannedStack(name="Stack", deployed=None, old=old, new=new)
    assert planned.title(planned.changes[0]) == "node group 'system' of an unknown type"
