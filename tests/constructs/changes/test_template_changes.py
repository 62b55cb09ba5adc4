"""The changes between two templates are those that CloudFormation makes."""

from typing import Any

import pytest

from training_cluster.changes.template_changes import ResourceChange, template_changes


def template(**resources: dict[str, Any]) -> dict[str, Any]:
    return {"Resources": resources}


def resource(kind: str, attributes: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties, **(attributes or {})}


def changes(old: dict[str, Any], new: dict[str, Any]) -> dict[str, ResourceChange]:
    return {each.logical_id: each for each in template_changes(old, new)}


VPC = resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/16")


def subnet(zone: Any, **more: Any) -> dict[str, Any]:
    return resource("AWS::EC2::Subnet", AvailabilityZone=zone, VpcId={"Ref": "Vpc"}, **more)


def group(**properties: Any) -> dict[str, Any]:
    version = {"Id": {"Ref": "Template"}, "Version": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]}}
    given = {"LaunchTemplate": version, "Subnets": [{"Ref": "Subnet"}], "CapacityType": "ON_DEMAND", **properties}
    return resource("AWS::EKS::Nodegroup", **given)


def launch_template(**data: Any) -> dict[str, Any]:
    return resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=data)


def deployed(**others: dict[str, Any]) -> dict[str, Any]:
    return template(**{"Vpc": VPC, "Subnet": subnet("a"), "Template": launch_template(), "Group": group()} | others)


@pytest.mark.parametrize(
    ("others", "actions"),
    [
        ({}, {}),
        ({"Group": group(ScalingConfig={"MaxSize": 2})}, {"Group": "update"}),
        ({"Group": group(CapacityType="SPOT")}, {"Group": "replace"}),
        # A property follows the version of a template that is updated, and the id of a resource that is replaced.
        ({"Template": launch_template(UserData="x")}, {"Template": "update", "Group": "update"}),
        ({"Subnet": subnet("b")}, {"Subnet": "replace", "Group": "replace"}),
        (
            {"Vpc": resource("AWS::EC2::VPC", CidrBlock="10.1.0.0/16")},
            {"Vpc": "replace", "Subnet": "replace", "Group": "replace"},
        ),
        ({"Subnet": subnet("a", Tags=[])}, {"Subnet": "update"}),
        ({"Vpc": resource("AWS::EC2::VPC", {"DependsOn": ["Subnet"]}, CidrBlock="10.0.0.0/16")}, {}),
        ({"Another": subnet("c")}, {"Another": "create"}),
        ({"Template": resource("AWS::EC2::EIP")}, {"Template": "replace", "Group": "update"}),
    ],
)
def test_a_change_is_made_as_cloudformation_makes_it(others: dict[str, Any], actions: dict[str, str]) -> None:
    found = changes(deployed(), deployed(**others))
    assert {id: each.action for id, each in found.items()} == actions


def test_a_property_inside_another_replaces_and_its_siblings_do_not() -> None:
    def cluster(**network: str) -> dict[str, Any]:
        return template(Cluster=resource("AWS::EKS::Cluster", KubernetesNetworkConfig=network))

    old = cluster(IpFamily="ipv4", Other="a")
    assert changes(old, cluster(IpFamily="ipv4", Other="b"))["Cluster"].action == "update"
    replaced = changes(old, cluster(IpFamily="ipv6", Other="a"))["Cluster"]
    assert (replaced.action, replaced.paths) == ("replace", ("KubernetesNetworkConfig/IpFamily",))
    # The property around it, too.
    assert changes(old, template(Cluster=resource("AWS::EKS::Cluster")))["Cluster"].action == "replace"


@pytest.mark.parametrize("key", ["DeploymentType", "EfaEnabled", "StorageType"])
def test_the_schema_of_fsx_is_completed_by_hand(key: str) -> None:
    def system(value: str) -> dict[str, Any]:
        inside = {} if key == "StorageType" else {key: value}
        outside = {"StorageType": value} if key == "StorageType" else {}
        given: dict[str, Any] = {"LustreConfiguration": {"PerUnitStorageThroughput": 125, **inside}, **outside}
        return template(System=resource("AWS::FSx::FileSystem", **given))

    assert changes(system("a"), system("b"))["System"].action == "replace"


def test_a_removed_resource_stays_by_the_deployed_policy_and_a_replaced_one_by_the_new() -> None:
    kept, deleted = {"DeletionPolicy": "Retain"}, {"DeletionPolicy": "Delete"}
    old = template(A=resource("AWS::S3::Bucket", kept), B=resource("AWS::S3::Bucket", deleted))
    removed = changes(old, template())
    assert (removed["A"].is_retained, removed["B"].is_retained) == (True, False)
    assert [each.action for each in removed.values()] == ["remove", "remove"]
    before = template(A=resource("AWS::S3::Bucket", BucketName="a"))
    after = template(A=resource("AWS::S3::Bucket", {"UpdateReplacePolicy": "Retain"}, BucketName="b"))
    assert changes(before, after)["A"].is_retained
    assert not changes(after, before)["A"].is_retained


def test_a_change_knows_the_resources_that_it_follows() -> None:
    found = changes(deployed(), deployed(Subnet=subnet("b"), Group=group(ScalingConfig={"MaxSize": 2})))["Group"]
    assert set(found.paths) == {"ScalingConfig/MaxSize", "Subnets"}
    assert (found.followed, found.causes) == (("Subnets",), ("Subnet",))


def test_a_function_in_place_of_a_value_is_one_change() -> None:
    found = changes(deployed(), deployed(Subnet=subnet({"Fn::Select": [0, {"Fn::GetAZs": ""}]})))["Subnet"]
    assert found.paths == ("AvailabilityZone",)


def test_both_notations_of_an_attribute_are_read() -> None:
    one = resource("AWS::EC2::NatGateway", AllocationId={"Fn::GetAtt": "Address.AllocationId"})
    other = resource("AWS::EC2::NatGateway", AllocationId={"Fn::GetAtt": ["Address", "AllocationId"]})
    for nat in (one, other):
        old = template(Address=resource("AWS::EC2::EIP", Address="a"), Nat=nat)
        new = template(Address=resource("AWS::EC2::EIP", Address="b"), Nat=nat)
        assert changes(old, new)["Nat"].action == "replace"


@pytest.mark.parametrize(
    "text", ["arn/${Address}", "${A}/${Address.AllocationId}", ["${Name}", {"Name": {"Ref": "Address"}}]]
)
def test_a_reference_in_a_text_is_followed(text: Any) -> None:
    nat = resource("AWS::EC2::NatGateway", AllocationId={"Fn::Sub": text})
    old = template(Address=resource("AWS::EC2::EIP", Address="a"), Nat=nat)
    assert changes(old, template(Address=resource("AWS::EC2::EIP", Address="b"), Nat=nat))["Nat"].action == "replace"
    literal = resource("AWS::EC2::NatGateway", AllocationId={"Fn::Sub": "${!Address}"})
    assert "Nat" not in changes(old | template(Nat=literal), template(Address=VPC, Nat=literal))


@pytest.mark.parametrize("value", [{"Fn::FindInMap": ["Zones", "a", "b"]}, {"Fn::If": ["Here", "a", "b"]}])
def test_a_value_follows_the_mappings_and_conditions_that_it_names(value: Any) -> None:
    rest = {"Mappings": {"Zones": {"a": {"b": "a"}}}, "Conditions": {"Here": {"Fn::Equals": ["a", "a"]}}}
    other = {"Mappings": {"Zones": {"a": {"b": "c"}}}, "Conditions": {"Here": {"Fn::Equals": ["a", "b"]}}}
    resources = template(Vpc=VPC, Subnet=subnet(value))
    assert changes(resources | rest, resources | rest) == {}
    assert changes(resources | rest, resources | other)["Subnet"].action == "replace"
