from typing import Any

import pytest
from aws_cdk import assertions

from tests.constructs.site import Site, properties
from training_cluster import GpuNodeGroup, GpuNodeGroupSpec
from training_workloads import InputError


def template(site: Site, **spec: Any) -> assertions.Template:
    GpuNodeGroup(
        site.stack,
        "Gpu",
        cluster=site.cluster,
        vpc=site.vpc,
        subnet=site.subnet,
        spec=GpuNodeGroupSpec(**spec),
    )
    return site.template()


def launch_template(made: assertions.Template) -> dict[str, Any]:
    (found,) = properties(made, "AWS::EC2::LaunchTemplate")
    return dict(found["LaunchTemplateData"])


def test_p4d_has_its_four_efa_interfaces_in_two_groups(site: Site) -> None:
    interfaces = launch_template(template(site, instance_type="p4d.24xlarge"))["NetworkInterfaces"]
    assert [(i["NetworkCardIndex"], i["DeviceIndex"], i["InterfaceType"]) for i in interfaces] == [
        (0, 0, "efa"),
        (1, 1, "efa-only"),
        (2, 1, "efa-only"),
        (3, 1, "efa-only"),
    ]
    cluster_group, efa_group = interfaces[0]["Groups"]
    assert cluster_group["Fn::GetAtt"][1] == "ClusterSecurityGroupId"
    assert efa_group["Fn::GetAtt"][0].startswith("GpuEfaSecurityGroup")
    assert all(interface["Groups"] == [cluster_group, efa_group] for interface in interfaces)


def test_the_efa_group_allows_all_traffic_from_and_to_itself(site: Site) -> None:
    made = template(site, instance_type="p4d.24xlarge")
    ingress = [rule for rule in properties(made, "AWS::EC2::SecurityGroupIngress") if rule["IpProtocol"] == "-1"]
    (from_itself,) = [rule for rule in ingress if rule["GroupId"] == rule.get("SourceSecurityGroupId")]
    (to_itself,) = properties(made, "AWS::EC2::SecurityGroupEgress")
    assert to_itself["IpProtocol"] == "-1"
    assert to_itself["GroupId"] == to_itself["DestinationSecurityGroupId"] == from_itself["GroupId"]


def test_p3_has_one_plain_interface_and_no_efa_group(site: Site) -> None:
    made = template(site, instance_type="p3.16xlarge")
    (interface,) = launch_template(made)["NetworkInterfaces"]
    assert (interface["InterfaceType"], len(interface["Groups"])) == ("interface", 1)
    made.resource_count_is("AWS::EC2::SecurityGroupEgress", 0)


@pytest.mark.parametrize(
    ("instance_type", "labels"),
    [
        ("p3.16xlarge", {"nvidia.com/gpu.present": "true"}),
        ("p4d.24xlarge", {"nvidia.com/gpu.present": "true", "vpc.amazonaws.com/efa.present": "true"}),
    ],
)
def test_the_node_group(instance_type: str, labels: dict[str, str], site: Site) -> None:
    made = template(site, instance_type=instance_type, desired_size=2, max_size=4)
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert group["AmiType"] == "AL2023_x86_64_NVIDIA"
    assert group["InstanceTypes"] == [instance_type]
    assert group["ScalingConfig"] == {"MinSize": 0, "DesiredSize": 2, "MaxSize": 4}
    assert group["Labels"] == labels
    assert group["Taints"] == [{"Key": "nvidia.com/gpu", "Value": "true", "Effect": "NO_SCHEDULE"}]
    assert len(group["Subnets"]) == 1


def test_nodes_are_placed_close_together(site: Site) -> None:
    made = template(site, instance_type="p3.16xlarge")
    ((placement_group_id, placement_group),) = made.find_resources("AWS::EC2::PlacementGroup").items()
    assert placement_group["Properties"]["Strategy"] == "cluster"
    assert launch_template(made)["Placement"] == {"GroupName": {"Fn::GetAtt": [placement_group_id, "GroupName"]}}


def test_metadata_needs_a_token_and_the_disk_is_encrypted(site: Site) -> None:
    data = launch_template(template(site, instance_type="p3.16xlarge"))
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}
    (disk,) = data["BlockDeviceMappings"]
    assert disk["DeviceName"] == "/dev/xvda"
    assert disk["Ebs"]["Encrypted"] is True
    assert disk["Ebs"]["VolumeType"] == "gp3"


def test_an_eks_launch_template_leaves_to_eks_what_is_its_own(site: Site) -> None:
    data = launch_template(template(site, instance_type="p4d.24xlarge"))
    assert not {"InstanceType", "ImageId", "SecurityGroupIds", "IamInstanceProfile"} & set(data)
    assert all("SubnetId" not in interface for interface in data["NetworkInterfaces"])


def test_sizes_by_default() -> None:
    spec = GpuNodeGroupSpec(instance_type="p3.16xlarge")
    assert (spec.min_size, spec.desired, spec.maximum) == (0, 0, 1)
    spec = GpuNodeGroupSpec(instance_type="p3.16xlarge", min_size=2)
    assert (spec.desired, spec.maximum) == (2, 2)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"instance_type": "m5.xlarge"}, "'instance_type' is 'm5.xlarge', which has no GPU; choose one of p3.16xlarge"),
        ({"instance_type": "p4.24xlarge"}, "did you mean p4d.24xlarge"),
        ({"instance_type": "p3.16xlarge", "min_size": -1}, "'min_size' is -1; give 0 or more"),
        ({"instance_type": "p3.16xlarge", "min_size": "1"}, "'min_size' is '1'; give a whole number, 0 or more"),
        ({"instance_type": "p3.16xlarge", "max_size": 0}, "'max_size' is 0; give 1 or more"),
        (
            {"instance_type": "p3.16xlarge", "desired_size": 3, "max_size": 2},
            "'desired_size' is 3; it must lie between min_size (0) and max_size (2)",
        ),
    ],
)
def test_what_cannot_be_launched(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        GpuNodeGroupSpec(**spec)
    assert message in str(caught.value)
