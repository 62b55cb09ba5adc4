from typing import Any

import pytest
from aws_cdk import assertions
from aws_cdk import aws_kms as kms

from tests.constructs.site import Site, properties
from training_cluster import GpuNodeGroup, GpuNodeGroupSpec


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
        (0, 0, "interface"),
        (0, 1, "efa-only"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
        (3, 0, "efa-only"),
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
        ("p3.16xlarge", {"nvidia.com/gpu.present": "true", "k8s.amazonaws.com/accelerator": "nvidia-v100"}),
        (
            "p4d.24xlarge",
            {
                "nvidia.com/gpu.present": "true",
                "k8s.amazonaws.com/accelerator": "nvidia-a100",
                "vpc.amazonaws.com/efa.present": "true",
            },
        ),
    ],
)
def test_the_node_group(instance_type: str, labels: dict[str, str], site: Site) -> None:
    made = template(site, instance_type=instance_type, desired_size=2, max_size=4)
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert group["AmiType"] == "AL2023_x86_64_NVIDIA"
    assert group["CapacityType"] == "ON_DEMAND"
    assert launch_template(made)["InstanceType"] == instance_type
    assert group["NodeRepairConfig"] == {"Enabled": True}
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
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    (disk,) = data["BlockDeviceMappings"]
    assert disk["DeviceName"] == "/dev/xvda"
    assert disk["Ebs"]["Encrypted"] is True
    assert disk["Ebs"]["VolumeType"] == "gp3"


def test_an_eks_launch_template_leaves_to_eks_what_is_its_own(site: Site) -> None:
    data = launch_template(template(site, instance_type="p4d.24xlarge"))
    assert not {"ImageId", "SecurityGroupIds", "IamInstanceProfile"} & set(data)
    assert all("SubnetId" not in interface for interface in data["NetworkInterfaces"])


def test_a_reservation_is_the_target_and_there_is_no_placement_group(site: Site) -> None:
    made = template(site, instance_type="p4d.24xlarge", capacity_reservation_id="cr-0123456789abcdef0")
    data = launch_template(made)
    assert data["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}
    }
    assert not {"Placement", "InstanceMarketOptions"} & set(data)
    made.resource_count_is("AWS::EC2::PlacementGroup", 0)
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert group["CapacityType"] == "ON_DEMAND"


def test_a_capacity_block(site: Site) -> None:
    made = template(
        site,
        instance_type="p5.48xlarge",
        capacity_type="CAPACITY_BLOCK",
        capacity_reservation_id="cr-0123456789abcdef0",
        max_size=16,
    )
    data = launch_template(made)
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert data["InstanceType"] == "p5.48xlarge"
    assert [i["InterfaceType"] for i in data["NetworkInterfaces"]] == ["interface"] + 32 * ["efa-only"]
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert (group["CapacityType"], group["ScalingConfig"]["DesiredSize"]) == ("CAPACITY_BLOCK", 0)


def test_spot_is_said_on_the_node_group_only(site: Site) -> None:
    made = template(site, instance_type="p3.16xlarge", capacity_type="SPOT")
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert group["CapacityType"] == "SPOT"
    assert "InstanceMarketOptions" not in launch_template(made)


def test_without_efa_there_is_one_interface_and_no_efa_label(site: Site) -> None:
    made = template(site, instance_type="p4d.24xlarge", efa=False)
    assert len(launch_template(made)["NetworkInterfaces"]) == 1
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert "vpc.amazonaws.com/efa.present" not in group["Labels"]
    assert set(group["Tags"]) == {"k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"}


def test_the_autoscaler_knows_the_devices_of_a_group_without_nodes(site: Site) -> None:
    (group,) = properties(template(site, instance_type="p4d.24xlarge"), "AWS::EKS::Nodegroup")
    assert group["Tags"] == {
        "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu": "8",
        "k8s.io/cluster-autoscaler/node-template/resources/vpc.amazonaws.com/efa": "4",
        "k8s.io/cluster-autoscaler/node-template/resources/hugepages-2Mi": "5120Mi",
    }


def test_an_update_takes_a_node_away_before_it_starts_another(site: Site) -> None:
    (group,) = properties(template(site, instance_type="p3.16xlarge"), "AWS::EKS::Nodegroup")
    assert group["UpdateConfig"] == {"MaxUnavailable": 1, "UpdateStrategy": "MINIMAL"}


def test_the_nodes_follow_the_release_of_the_cluster(site: Site) -> None:
    spec = GpuNodeGroupSpec(instance_type="p3.16xlarge")
    where = {"cluster": site.cluster, "vpc": site.vpc, "subnet": site.subnet}
    GpuNodeGroup(site.stack, "Gpu", spec=spec, kubernetes_version="1.35", **where)
    (group,) = properties(site.template(), "AWS::EKS::Nodegroup")
    assert group["Version"] == "1.35"


def test_an_ami_release_can_be_pinned(site: Site) -> None:
    made = template(site, instance_type="p3.16xlarge", ami_release="1.35.0-20260917")
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert group["ReleaseVersion"] == "1.35.0-20260917"


def test_the_root_volume_takes_a_key(site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    spec = GpuNodeGroupSpec(instance_type="p3.16xlarge")
    GpuNodeGroup(
        site.stack, "Gpu", cluster=site.cluster, vpc=site.vpc, subnet=site.subnet, spec=spec, encryption_key=key
    )
    made = site.template()
    ((key_id, _),) = made.find_resources("AWS::KMS::Key").items()
    (disk,) = launch_template(made)["BlockDeviceMappings"]
    assert disk["Ebs"]["KmsKeyId"] == {"Fn::GetAtt": [key_id, "Arn"]}


def test_the_user_data_stands_in_the_launch_template(site: Site) -> None:
    data = launch_template(template(site, instance_type="p4d.24xlarge"))
    assert "kind: NodeConfig" in data["UserData"]["Fn::Base64"]
