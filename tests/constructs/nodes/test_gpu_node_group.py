from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms

from tests.constructs.site import Site, properties
from training_cluster import GpuNodeGroup, TrainingCluster, TrainingNetwork
from training_workloads import InputError


def template(site: Site, **given: Any) -> assertions.Template:
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, **given)
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
    assert efa_group["Fn::GetAtt"][0].startswith("ClusterEfaSecurityGroup")
    assert all(interface["Groups"] == [cluster_group, efa_group] for interface in interfaces)


def test_a_node_has_the_names_of_its_node_group_and_placement_group(site: Site) -> None:
    GpuNodeGroup(site.stack, "My block", cluster=site.cluster, instance_type="p3dn.24xlarge")
    (group,) = properties(site.template(), "AWS::EKS::Nodegroup")
    assert group["Labels"]["training-cluster/node-group"] == "My-block"
    assert group["Labels"]["training-cluster/placement-group"] == "My-block"


def test_rejects_a_second_node_group_of_the_same_name(site: Site) -> None:
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, instance_type="p3dn.24xlarge")
    other = cdk.Stack(site.stack.node.root, "Other")  # type: ignore[arg-type]
    with pytest.raises(InputError) as caught:
        GpuNodeGroup(other, "Gpu", cluster=site.cluster, instance_type="p3dn.24xlarge")
    assert str(caught.value) == (
        "'Other/Gpu' is 'a second node group Gpu', but Site/Gpu owns that of the cluster; give one of the two another "
        "id"
    )


def test_a_type_without_efa_has_one_plain_interface_and_no_efa_group(site: Site) -> None:
    made = template(site, instance_type="g5.xlarge")
    (interface,) = launch_template(made)["NetworkInterfaces"]
    assert (interface["InterfaceType"], len(interface["Groups"])) == ("interface", 1)
    made.resource_count_is("AWS::EC2::SecurityGroupEgress", 0)


@pytest.mark.parametrize(
    ("instance_type", "labels"),
    [
        (
            "p3dn.24xlarge",
            {
                "training-cluster/node-group": "Gpu",
                "training-cluster/placement-group": "Gpu",
                "nvidia.com/gpu.present": "true",
                "k8s.amazonaws.com/accelerator": "nvidia-v100",
                "vpc.amazonaws.com/efa.present": "true",
            },
        ),
        (
            "p4d.24xlarge",
            {
                "training-cluster/node-group": "Gpu",
                "training-cluster/placement-group": "Gpu",
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
    assert group["ScalingConfig"] == {"MinSize": 0, "DesiredSize": 2, "MaxSize": 4}
    assert group["Labels"] == labels
    assert group["Taints"] == [{"Key": "nvidia.com/gpu", "Value": "true", "Effect": "NO_SCHEDULE"}]
    assert len(group["Subnets"]) == 1


def test_nodes_are_placed_close_together(site: Site) -> None:
    made = template(site, instance_type="p3dn.24xlarge")
    ((placement_group_id, placement_group),) = made.find_resources("AWS::EC2::PlacementGroup").items()
    assert placement_group["Properties"]["Strategy"] == "cluster"
    assert launch_template(made)["Placement"] == {"GroupName": {"Fn::GetAtt": [placement_group_id, "GroupName"]}}


def test_metadata_needs_a_token_and_the_disk_is_encrypted(site: Site) -> None:
    data = launch_template(template(site, instance_type="p3dn.24xlarge"))
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    (disk,) = data["BlockDeviceMappings"]
    assert disk["DeviceName"] == "/dev/xvda"
    assert disk["Ebs"]["Encrypted"] is True
    assert disk["Ebs"]["VolumeType"] == "gp3"


def test_the_launch_template_has_nothing_that_eks_sets_itself(site: Site) -> None:
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


def test_spot_is_a_property_of_the_node_group_only(site: Site) -> None:
    made = template(site, instance_type="p3dn.24xlarge", capacity_type="SPOT")
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


def test_all_three_sizes_are_given_because_eks_takes_all_or_none(site: Site, root: Path) -> None:
    """So a change of one of them sends `desired_size` too, as docs/configuration.md says."""
    (group,) = properties(template(site, instance_type="p3dn.24xlarge", max_size=4), "AWS::EKS::Nodegroup")
    assert group["ScalingConfig"] == {"MinSize": 0, "DesiredSize": 0, "MaxSize": 4}
    text = " ".join((root / "docs/configuration.md").read_text().split())
    assert "`desired_size`, 0 unless you set it, is sent with each change of `min_size` or `max_size`" in text


@pytest.mark.parametrize(("sizes", "number"), [({}, 0), ({"desired_size": 1}, 1), ({"min_size": 2}, 2)])
def test_warns_of_nodes_in_a_capacity_block_that_may_not_have_started(
    sizes: dict[str, Any], number: int, site: Site
) -> None:
    GpuNodeGroup(
        site.stack,
        "Gpu",
        cluster=site.cluster,
        instance_type="p5.48xlarge",
        capacity_type="CAPACITY_BLOCK",
        capacity_reservation_id="cr-0123456789abcdef0",
        **sizes,
    )
    found = assertions.Annotations.from_stack(site.stack).find_warning(
        "*", assertions.Match.string_like_regexp("no node starts before the Capacity Block does")
    )
    assert [str(each.entry.data).partition(",")[0] for each in found] == [f"desired_size is {number}"][: bool(number)]


def test_an_update_stops_a_node_before_it_starts_another(site: Site) -> None:
    (group,) = properties(template(site, instance_type="p3dn.24xlarge"), "AWS::EKS::Nodegroup")
    assert group["UpdateConfig"] == {"MaxUnavailable": 1, "UpdateStrategy": "MINIMAL"}


def test_the_nodes_follow_the_release_of_the_cluster(site: Site) -> None:
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, instance_type="p3dn.24xlarge", kubernetes_version="1.35")
    (group,) = properties(site.template(), "AWS::EKS::Nodegroup")
    assert group["Version"] == "1.35"


def test_an_ami_release_can_be_pinned(site: Site) -> None:
    made = template(site, instance_type="p3dn.24xlarge", ami_release="1.35.0-20260917")
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert group["ReleaseVersion"] == "1.35.0-20260917"


def test_a_key_encrypts_the_root_volume(site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, instance_type="p3dn.24xlarge", encryption_key=key)
    made = site.template()
    ((key_id, _),) = made.find_resources("AWS::KMS::Key").items()
    (disk,) = launch_template(made)["BlockDeviceMappings"]
    assert disk["Ebs"]["KmsKeyId"] == {"Fn::GetAtt": [key_id, "Arn"]}


def test_the_user_data_is_in_the_launch_template(site: Site) -> None:
    data = launch_template(template(site, instance_type="p4d.24xlarge"))
    assert "kind: NodeConfig" in data["UserData"]["Fn::Base64"]


def test_accepts_the_types_of_cdk(site: Site) -> None:
    made = template(site, instance_type=ec2.InstanceType("p4d.24xlarge"), capacity_type=eks.CapacityType.SPOT)
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert group["CapacityType"] == "SPOT"
    assert launch_template(made)["InstanceType"] == "p4d.24xlarge"


def test_nodes_of_a_cdk_cluster_are_in_its_first_private_subnet(site: Site) -> None:
    (group,) = properties(template(site, instance_type="p3dn.24xlarge"), "AWS::EKS::Nodegroup")
    assert group["Subnets"] == [site.stack.resolve(site.subnet.subnet_id)]


def test_a_training_cluster_decides_subnet_release_key_and_order() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    zones = ["us-east-1a", "us-east-1b"]
    network = TrainingNetwork(stack, "Network", availability_zones=zones, training_zone="us-east-1b")
    key = kms.Key(stack, "Key")
    cluster = TrainingCluster(stack, "Cluster", vpc=network, kubernetes_version="1.34", encryption_key=key)
    group = GpuNodeGroup(stack, "Gpu", cluster=cluster.as_cluster, instance_type="p3dn.24xlarge")
    made = assertions.Template.from_stack(stack)
    (found,) = [each for each in made.find_resources("AWS::EKS::Nodegroup").values() if "Taints" in each["Properties"]]
    assert found["Properties"]["Subnets"] == [stack.resolve(network.training_subnet.subnet_id)]
    assert found["Properties"]["Version"] == "1.34"
    addons = made.find_resources("AWS::EKS::Addon")
    before = {addons[id]["Properties"]["AddonName"] for id in found["DependsOn"]}
    assert before == {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
    disks = group.launch_template.launch_template_data.block_device_mappings  # type: ignore[union-attr]
    assert stack.resolve(disks)[0]["ebs"]["kmsKeyId"] == stack.resolve(key.key_arn)


def rejection(site: Site, **given: Any) -> str:
    arguments = {"cluster": site.cluster, "instance_type": "p4d.24xlarge"} | given
    with pytest.raises(InputError) as caught:
        GpuNodeGroup(site.stack, f"Gpu{len(site.stack.node.children)}", **arguments)
    return str(caught.value)


def test_rejects_a_cluster_that_nodes_cannot_join(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    fix = "import it with TrainingCluster.from_cluster_attributes"
    assert rejection(site, cluster=bare).splitlines() == [
        f"'cluster' is 'research', but it was imported without its security group; {fix}",
        f"'cluster' is 'research', but it was imported without its VPC; {fix}",
    ]


def test_rejects_a_public_subnet(site: Site) -> None:
    fix = "give a private one, such as vpc.private_subnets[0]"
    assert rejection(site, subnet=site.vpc.public_subnets[0]) == f"'subnet' is a PublicSubnet, but it is public; {fix}"
    public = site.vpc.public_subnets[0].subnet_id
    by_id = ec2.Subnet.from_subnet_id(site.stack, "Public", public)
    assert rejection(site, subnet=by_id).endswith(f"but it is public; {fix}")


def test_rejects_a_subnet_of_another_vpc(site: Site) -> None:
    other = ec2.Vpc(site.stack, "Other", max_azs=2)
    assert rejection(site, subnet=other.private_subnets[0]) == (
        "'subnet' is a PrivateSubnet, but it is of another VPC than the cluster; give one of Site/Vpc, such as "
        "vpc.private_subnets[0]"
    )
    literal = ec2.PrivateSubnet(
        site.stack, "Literal", vpc_id="vpc-1", cidr_block="10.0.0.0/24", availability_zone="us-east-1a"
    )
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack, "Imported", vpc_id="vpc-2", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-1"]
    )
    cluster = eks.Cluster.from_cluster_attributes(
        site.stack, "Bare", cluster_name="research", cluster_security_group_id="sg-0123456789abcdef0", vpc=vpc
    )
    assert "it is of another VPC than the cluster" in rejection(site, cluster=cluster, subnet=literal)


def test_accepts_a_subnet_that_the_user_adds_to_the_vpc_of_the_cluster(site: Site) -> None:
    subnet = ec2.PrivateSubnet(
        site.stack, "Added", vpc_id=site.vpc.vpc_id, cidr_block="10.0.99.0/24", availability_zone="us-east-1a"
    )
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, subnet=subnet, instance_type="p4d.24xlarge")


def test_rejects_a_cluster_without_private_subnets(site: Site) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack, "Imported", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"]
    )
    cluster = eks.Cluster.from_cluster_attributes(
        site.stack, "Bare", cluster_name="research", cluster_security_group_id="sg-0123456789abcdef0", vpc=vpc
    )
    assert rejection(site, cluster=cluster) == (
        "'subnet' is missing, but the cluster's VPC has no private subnets; give the private subnet of the nodes"
    )


def test_accepts_a_subnet_by_its_id_alone(site: Site) -> None:
    subnet = ec2.Subnet.from_subnet_id(site.stack, "Private", "subnet-0123456789abcdef0")
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, subnet=subnet, instance_type="p4d.24xlarge")


def test_rejects_other_types_than_a_subnet(site: Site) -> None:
    message = "'subnet' is 'subnet-1'; give a subnet, such as vpc.private_subnets[0]"
    assert rejection(site, subnet="subnet-1") == message


def test_a_value_of_the_deployment_is_named_as_one(site: Site) -> None:
    size = cdk.CfnParameter(site.stack, "Size", type="Number").value_as_number
    with pytest.raises(InputError) as caught:
        template(site, instance_type="p4d.24xlarge", max_size=size)
    assert str(caught.value).startswith(
        "'max_size' is a value that only the deployment knows, but the synthesis must know it; give a whole number"
    )
    kind = cdk.CfnParameter(site.stack, "Kind").value_as_string
    with pytest.raises(InputError, match="'instance_type' is a value that only the deployment knows, but it is not a"):
        GpuNodeGroup(site.stack, "Other", cluster=site.cluster, instance_type=kind)


def test_rejects_an_ami_of_another_release_than_the_cluster(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc, kubernetes_version="1.34")
    options: dict[str, Any] = {"instance_type": "g5.xlarge", "ami_release": "1.35.0-20260917"}
    with pytest.raises(InputError) as caught:
        cluster.add_gpu_node_group("gpu", **options)
    assert str(caught.value) == (
        "'ami_release' is '1.35.0-20260917', but kubernetes_version is '1.34'; give a release of 1.34, or change the "
        "version"
    )
    with pytest.raises(InputError, match=r"'ami_release' is .* but kubernetes_version is '1\.34'"):
        GpuNodeGroup(site.stack, "Other", cluster=site.cluster, kubernetes_version="1.34", **options)
    GpuNodeGroup(site.stack, "Unknown", cluster=site.cluster, **options)


def test_rejects_an_invalid_release(site: Site) -> None:
    for version in ("9", "v1.35", 1.35):
        assert rejection(site, kubernetes_version=version) == (
            f"'kubernetes_version' is {version!r}; give a release of Kubernetes, such as 1.35"
        )
