from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from syrupy.assertion import SnapshotAssertion

from tests.constructs.site import Site, properties
from training_cluster import GpuNodeGroup, NodeRepair, NodeRepairOverride, TrainingCluster, TrainingNetwork
from training_workloads import InputError


def template(site: Site, **given: Any) -> assertions.Template:
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, **given)
    return site.template()


def launch_template(made: assertions.Template) -> dict[str, Any]:
    (found,) = properties(made, "AWS::EC2::LaunchTemplate")
    return dict(found["LaunchTemplateData"])


def test_a_node_group_is_as_reviewed(site: Site, snapshot: SnapshotAssertion) -> None:
    """Devices, placement, disk, labels, taints, updates, repair, user data: what EC2 and EKS get without options."""
    made = template(site, instance_type="p4d.24xlarge", desired_size=2, max_size=4).to_json()["Resources"]
    assert {id: each for id, each in made.items() if id.startswith(("Gpu", "ClusterEfa"))} == snapshot


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


@pytest.mark.parametrize("given", [{"instance_type": "g5.xlarge"}, {"instance_type": "p4d.24xlarge", "efa": False}])
def test_without_efa_there_is_one_plain_interface_and_no_efa_group(given: dict[str, Any], site: Site) -> None:
    made = template(site, **given)
    (interface,) = launch_template(made)["NetworkInterfaces"]
    assert (interface["InterfaceType"], len(interface["Groups"])) == ("interface", 1)
    made.resource_count_is("AWS::EC2::SecurityGroupEgress", 0)
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert "vpc.amazonaws.com/efa.present" not in group["Labels"]
    prefix = "k8s.io/cluster-autoscaler/node-template/resources/"
    assert set(group["Tags"]) == {f"{prefix}nvidia.com/gpu", f"{prefix}ephemeral-storage"}


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


def test_a_resource_group_of_reservations_is_the_target(site: Site) -> None:
    arn = "arn:aws:resource-groups:us-west-2:111122223333:group/training"
    data = launch_template(template(site, instance_type="p4d.24xlarge", capacity_reservation_id=arn))
    assert data["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationResourceGroupArn": arn}
    }


def imported_group(site: Site) -> ec2.IPlacementGroup:
    return ec2.PlacementGroup.from_placement_group_name(site.stack, "Mine", "my-group")


@pytest.mark.parametrize("given", [lambda site: "my-group", imported_group])
def test_a_reservation_in_an_existing_placement_group(site: Site, given: Callable[[Site], Any]) -> None:
    made = template(
        site,
        instance_type="p5.48xlarge",
        capacity_reservation_id="cr-0123456789abcdef0",
        placement_group=given(site),
    )
    data = launch_template(made)
    assert data["Placement"] == {"GroupName": "my-group"}
    assert "CapacityReservationSpecification" in data
    made.resource_count_is("AWS::EC2::PlacementGroup", 0)
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert "training-cluster/placement-group" in group["Labels"]


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


def test_all_three_sizes_are_given_because_eks_takes_all_or_none(site: Site, root: Path) -> None:
    """So a change of one of them sends `desired_size` too, as docs/configuration.md says."""
    (group,) = properties(template(site, instance_type="p3dn.24xlarge", max_size=4), "AWS::EKS::Nodegroup")
    assert group["ScalingConfig"] == {"MinSize": 0, "DesiredSize": 0, "MaxSize": 4}
    text = " ".join((root / "docs/configuration.md").read_text().split())
    assert "a change of `min_size` or `max_size` also sets the number of nodes to `desired_size`" in text


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


def test_warns_of_a_repair_that_the_agent_never_asks_for(site: Site) -> None:
    override = NodeRepairOverride(condition="AcceleratedHardwareReady", reason="NvidiaXID43Error", action="Replace")
    template(site, instance_type="p4d.24xlarge", node_repair=NodeRepair(overrides=[override]))
    assertions.Annotations.from_stack(site.stack).has_warning(
        "*", assertions.Match.string_like_regexp("XID 43 as the event NvidiaXID43Warning only.*repair-of-an-event")
    )


def test_every_option_reaches_the_template(site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    override = NodeRepairOverride(
        condition="AcceleratedHardwareReady", reason="NvidiaXID64Error", action="Replace", min_wait_minutes=5
    )
    made = template(
        site,
        instance_type="p3dn.24xlarge",
        kubernetes_version="1.35",
        ami_release="1.35.0-20260917",
        subnet=ec2.Subnet.from_subnet_id(site.stack, "Private", "subnet-0123456789abcdef0"),
        encryption_key=key,
        fast_image_pull=True,
        ssm=True,
        node_repair=NodeRepair(
            max_parallel_nodes_repaired_percentage=50, max_unhealthy_node_threshold_count=3, overrides=(override,)
        ),
    )
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    assert (group["Version"], group["ReleaseVersion"]) == ("1.35", "1.35.0-20260917")
    assert group["Subnets"] == ["subnet-0123456789abcdef0"]
    assert group["NodeRepairConfig"] == {
        "Enabled": True,
        "MaxParallelNodesRepairedPercentage": 50,
        "MaxUnhealthyNodeThresholdCount": 3,
        "NodeRepairConfigOverrides": [
            {
                "NodeMonitoringCondition": "AcceleratedHardwareReady",
                "NodeUnhealthyReason": "NvidiaXID64Error",
                "RepairAction": "Replace",
                "MinRepairWaitTimeMins": 5,
            },
            {
                "NodeMonitoringCondition": "NetworkingReady",
                "NodeUnhealthyReason": "IPAMDNotReady",
                "RepairAction": "NoAction",
                "MinRepairWaitTimeMins": 10,
            },
        ],
    }
    data = launch_template(made)
    (disk,) = data["BlockDeviceMappings"]
    assert disk["Ebs"]["KmsKeyId"] == site.stack.resolve(key.key_arn)
    assert "featureGates:\n    FastImagePull: true" in data["UserData"]["Fn::Base64"]
    assert "AmazonSSMManagedInstanceCore" in str(properties(made, "AWS::IAM::Role"))


def policies(made: assertions.Template) -> list[str]:
    (role,) = [each for each in properties(made, "AWS::IAM::Role") if "ec2.amazonaws.com" in str(each)]
    return [str(arn).rpartition("/")[2].rstrip("'}]") for arn in role["ManagedPolicyArns"]]


def test_nodes_of_a_cluster_of_the_cdk_keep_the_right_of_the_cni(site: Site) -> None:
    group = GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, instance_type="p3.2xlarge", ssm=True)
    group.node_group.role.add_managed_policy(iam.ManagedPolicy.from_managed_policy_arn(site.stack, "Own", "arn:x/Own"))
    assert policies(site.template()) == [
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKS_CNI_Policy",
        "AmazonSSMManagedInstanceCore",
        "Own",
        "AmazonEC2ContainerRegistryPullOnly",
    ]


def test_nodes_of_our_cluster_have_no_right_on_interfaces(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Ours", vpc=site.vpc)
    cluster.add_gpu_node_group("Gpu", instance_type="p3.2xlarge")
    nodes = [each for each in properties(site.template(), "AWS::IAM::Role") if "ec2.amazonaws.com" in str(each)]
    assert [("CNI" in str(role["ManagedPolicyArns"])) for role in nodes] == [False, False]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"subnet": "subnet-1"}, "'subnet' is 'subnet-1'; give a subnet, such as vpc.private_subnets[0]"),
        ({"kubernetes_version": "9"}, "'kubernetes_version' is '9'; give a release of Kubernetes, such as 1.35"),
        ({"kubernetes_version": "v1.35"}, "'kubernetes_version' is 'v1.35'; give a release of Kubernetes, such as"),
        ({"kubernetes_version": 1.35}, "'kubernetes_version' is 1.35; give a release of Kubernetes, such as 1.35"),
        ({"node_repair": True}, "'node_repair' is True; give its keys, such as"),
    ],
)
def test_rejects_an_option_of_another_kind(given: dict[str, Any], message: str, site: Site) -> None:
    assert rejection(site, **given).startswith(message)


def test_spot_is_a_property_of_the_node_group_only_and_cdk_s_types_are_accepted(site: Site) -> None:
    made = template(site, instance_type=ec2.InstanceType("p4d.24xlarge"), capacity_type=eks.CapacityType.SPOT)
    (group,) = properties(made, "AWS::EKS::Nodegroup")
    data = launch_template(made)
    assert (group["CapacityType"], data["InstanceType"]) == ("SPOT", "p4d.24xlarge")
    assert "InstanceMarketOptions" not in data


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
    before = {addons[id]["Properties"]["AddonName"] for id in found["DependsOn"] if id in addons}
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
        "'ami_release' is '1.35.0-20260917', but kubernetes_version is '1.34'; give a release of 1.34 or 'latest', or "
        "change the version"
    )
    with pytest.raises(InputError, match=r"'ami_release' is .* but kubernetes_version is '1\.34'"):
        GpuNodeGroup(site.stack, "Other", cluster=site.cluster, kubernetes_version="1.34", **options)
    GpuNodeGroup(site.stack, "Unknown", cluster=site.cluster, **options)
