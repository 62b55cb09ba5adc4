import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.site import properties
from training_cluster import TrainingCluster

ADMIN = "arn:aws:iam::111122223333:role/Admin"


@pytest.fixture(scope="module")
def template() -> assertions.Template:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingCluster(
        stack,
        "Cluster",
        vpc=ec2.Vpc(stack, "Vpc", max_azs=2),
        public_access_cidrs=["203.0.113.7/32"],
        admin_arns=[ADMIN],
    )
    return assertions.Template.from_stack(stack)


def test_capacity_is_explicit(template: assertions.Template) -> None:
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    assert cluster["ComputeConfig"] == {"Enabled": False}
    assert cluster["Version"] == "1.35"


def test_only_the_named_addresses_reach_the_api(template: assertions.Template) -> None:
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    access = cluster["ResourcesVpcConfig"]
    assert access["EndpointPrivateAccess"] is True
    assert access["EndpointPublicAccess"] is True
    assert access["PublicAccessCidrs"] == ["203.0.113.7/32"]


def test_by_default_the_api_is_private() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    (cluster,) = properties(assertions.Template.from_stack(stack), "AWS::EKS::Cluster")
    assert cluster["ResourcesVpcConfig"]["EndpointPublicAccess"] is False


def test_administrators_have_access_entries(template: assertions.Template) -> None:
    entries = properties(template, "AWS::EKS::AccessEntry")
    (entry,) = [entry for entry in entries if entry["PrincipalArn"] == ADMIN]
    (policy,) = entry["AccessPolicies"]
    assert policy["AccessScope"] == {"Type": "cluster"}
    assert policy["PolicyArn"]["Fn::Join"][1][-1] == ":eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def test_nodes_come_after_the_network_and_services_after_the_nodes(template: assertions.Template) -> None:
    addons = template.find_resources("AWS::EKS::Addon")
    by_name = {addon["Properties"]["AddonName"]: (id, addon) for id, addon in addons.items()}
    assert set(by_name) == {"vpc-cni", "kube-proxy", "coredns", "aws-fsx-csi-driver"}
    ((node_group_id, node_group),) = template.find_resources("AWS::EKS::Nodegroup").items()
    assert {by_name["vpc-cni"][0], by_name["kube-proxy"][0]} <= set(node_group["DependsOn"])
    for name in ("coredns", "aws-fsx-csi-driver"):
        assert node_group_id in by_name[name][1]["DependsOn"]
