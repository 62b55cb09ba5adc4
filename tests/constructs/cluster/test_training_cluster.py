import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from tests.constructs.site import properties
from training_cluster import TrainingCluster, TrainingNetwork
from training_workloads import InputError

ADMIN = "arn:aws:iam::111122223333:role/Admin"
NETWORK_ADDONS = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
NODE_ADDONS = {"coredns", "aws-fsx-csi-driver", "eks-node-monitoring-agent"}


def synthesize(**arguments: Any) -> assertions.Template:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingCluster(stack, "Cluster", **{"vpc": ec2.Vpc(stack, "Vpc", max_azs=2)} | arguments)
    return assertions.Template.from_stack(stack)


@pytest.fixture(scope="module")
def template() -> assertions.Template:
    return synthesize(public_access_cidrs=["203.0.113.7/32"], admin_arns=[ADMIN])


@pytest.fixture(scope="module")
def encrypted() -> assertions.Template:
    stack = cdk.Stack(cdk.App(), "Stack")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    TrainingCluster(stack, "Cluster", vpc=vpc, encryption_key=kms.Key(stack, "Key"), efs=True)
    return assertions.Template.from_stack(stack)


def addons(template: assertions.Template) -> dict[str, tuple[str, dict[str, Any]]]:
    found = template.find_resources("AWS::EKS::Addon")
    return {addon["Properties"]["AddonName"]: (id, dict(addon)) for id, addon in found.items()}


def key_arn(template: assertions.Template) -> dict[str, Any]:
    (key,) = template.find_resources("AWS::KMS::Key")
    return {"Fn::GetAtt": [key, "Arn"]}


def test_capacity_is_explicit(template: assertions.Template) -> None:
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    assert cluster["ComputeConfig"] == {"Enabled": False}
    assert cluster["Version"] == "1.35"


def test_the_whole_control_plane_is_logged(template: assertions.Template) -> None:
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    kinds = {each["Type"] for each in cluster["Logging"]["ClusterLogging"]["EnabledTypes"]}
    assert kinds == {"api", "audit", "authenticator", "controllerManager", "scheduler"}


def test_the_name_is_that_of_the_tree_and_of_this_creation_of_the_stack() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingCluster(stack, "My cluster (1)", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    (cluster,) = properties(assertions.Template.from_stack(stack), "AWS::EKS::Cluster")
    separator, (name, uuid) = cluster["Name"]["Fn::Join"]
    assert (separator, name) == ("", "Stack-Mycluster1-") or (separator, name) == ("-", "Stack-Mycluster1")
    assert "AWS::StackId" in json.dumps(uuid)


@pytest.mark.parametrize("version", ["1.34", eks.KubernetesVersion.V1_34])
def test_an_older_release_has_its_kubectl(version: eks.KubernetesVersion | str) -> None:
    older = synthesize(kubernetes_version=version)
    (cluster,) = properties(older, "AWS::EKS::Cluster")
    assert cluster["Version"] == "1.34"
    descriptions = [layer["Description"] for layer in properties(older, "AWS::Lambda::LayerVersion")]
    assert any(description.startswith("/opt/kubectl/kubectl 1.34.") for description in descriptions)


def test_only_the_named_addresses_reach_the_api(template: assertions.Template) -> None:
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    access = cluster["ResourcesVpcConfig"]
    assert access["EndpointPrivateAccess"] is True
    assert access["EndpointPublicAccess"] is True
    assert access["PublicAccessCidrs"] == ["203.0.113.7/32"]


def test_by_default_the_api_is_private(encrypted: assertions.Template) -> None:
    (cluster,) = properties(encrypted, "AWS::EKS::Cluster")
    assert cluster["ResourcesVpcConfig"]["EndpointPublicAccess"] is False


def test_a_key_encrypts_secrets_volumes_and_logs(encrypted: assertions.Template) -> None:
    (cluster,) = properties(encrypted, "AWS::EKS::Cluster")
    assert cluster["EncryptionConfig"] == [{"Provider": {"KeyArn": key_arn(encrypted)}, "Resources": ["secrets"]}]
    (launch_template,) = properties(encrypted, "AWS::EC2::LaunchTemplate")
    (disk,) = launch_template["LaunchTemplateData"]["BlockDeviceMappings"]
    assert (disk["Ebs"]["Encrypted"], disk["Ebs"]["KmsKeyId"]) == (True, key_arn(encrypted))
    for group in properties(encrypted, "AWS::Logs::LogGroup"):
        assert group["KmsKeyId"] == key_arn(encrypted)


def test_pods_cannot_use_the_credentials_of_system_nodes(template: assertions.Template) -> None:
    (launch_template,) = properties(template, "AWS::EC2::LaunchTemplate")
    data = launch_template["LaunchTemplateData"]
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    (disk,) = data["BlockDeviceMappings"]
    assert disk == {
        "DeviceName": "/dev/xvda",
        "Ebs": {
            "VolumeType": "gp3",
            "VolumeSize": 100,
            # The launchers' image, gigabytes of it, comes here.
            "Throughput": 600,
            "Iops": 3000,
            "Encrypted": True,
            "DeleteOnTermination": True,
        },
    }


def test_gpus_are_monitored_on_tainted_nodes_too(template: assertions.Template) -> None:
    (agent,) = [a for a in properties(template, "AWS::EKS::Addon") if a["AddonName"] == "eks-node-monitoring-agent"]
    assert json.loads(agent["ConfigurationValues"]) == {
        "dcgmAgent": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]}
    }


def test_broken_system_nodes_are_replaced_one_by_one(template: assertions.Template) -> None:
    (nodes,) = properties(template, "AWS::EKS::Nodegroup")
    latched = {
        "NodeMonitoringCondition": "NetworkingReady",
        "NodeUnhealthyReason": "IPAMDNotReady",
        "RepairAction": "NoAction",
        "MinRepairWaitTimeMins": 10,
    }
    assert nodes["NodeRepairConfig"] == {
        "Enabled": True,
        "MaxParallelNodesRepairedCount": 1,
        "NodeRepairConfigOverrides": [latched],
    }
    assert nodes["ScalingConfig"] == {"MinSize": 2, "DesiredSize": 2, "MaxSize": 3}


def test_an_update_starts_a_system_node_before_it_stops_another(template: assertions.Template) -> None:
    (nodes,) = properties(template, "AWS::EKS::Nodegroup")
    assert nodes["UpdateConfig"] == {"MaxUnavailable": 1, "UpdateStrategy": "DEFAULT"}


@pytest.mark.parametrize("protection", [True, False])
def test_eks_protects_the_cluster_where_asked_to(protection: bool, template: assertions.Template) -> None:
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    assert "DeletionProtection" not in cluster
    # False is a value too: CloudFormation may leave what a template no longer names.
    (protected,) = properties(synthesize(deletion_protection=protection), "AWS::EKS::Cluster")
    assert protected["DeletionProtection"] is protection


def test_no_node_reads_s3(template: assertions.Template) -> None:
    roles = properties(template, "AWS::IAM::Role")
    (node_role,) = [each for each in roles if "ec2.amazonaws.com" in json.dumps(each["AssumeRolePolicyDocument"])]
    names = [arn["Fn::Join"][1][-1].rpartition("/")[2] for arn in node_role["ManagedPolicyArns"]]
    assert names == ["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"]
    assert "Policies" not in node_role


def test_the_cni_has_a_role_before_its_pods_start(template: assertions.Template) -> None:
    ((id, association),) = template.find_resources("AWS::EKS::PodIdentityAssociation").items()
    assert association["Properties"]["ServiceAccount"] == "aws-node"
    assert association["Properties"]["Namespace"] == "kube-system"
    role = template.to_json()["Resources"][association["Properties"]["RoleArn"]["Fn::GetAtt"][0]]
    assert "/AmazonEKS_CNI_Policy" in str(role["Properties"]["ManagedPolicyArns"])
    agent, (_, cni) = addons(template)["eks-pod-identity-agent"][0], addons(template)["vpc-cni"]
    assert {id, agent} <= set(cni["DependsOn"])


def test_nodes_lose_the_right_of_the_cni_after_it_has_its_role(template: assertions.Template) -> None:
    roles = template.find_resources("AWS::IAM::Role").values()
    (node_role,) = [each for each in roles if "ec2.amazonaws.com" in json.dumps(each["Properties"])]
    assert addons(template)["vpc-cni"][0] in node_role["DependsOn"]


def test_the_cni_enforces_policies_and_saves_addresses(template: assertions.Template) -> None:
    values = json.loads(addons(template)["vpc-cni"][1]["Properties"]["ConfigurationValues"])
    assert values == {
        "enableNetworkPolicy": "true",
        "env": {
            "AWS_VPC_K8S_CNI_LOGLEVEL": "INFO",
            "AWS_VPC_ENI_MTU": "9001",
            "MINIMUM_IP_TARGET": "16",
            "WARM_IP_TARGET": "4",
            "WARM_ENI_TARGET": "0",
        },
    }


def test_administrators_have_access_entries(template: assertions.Template) -> None:
    entries = properties(template, "AWS::EKS::AccessEntry")
    (entry,) = [entry for entry in entries if entry["PrincipalArn"] == ADMIN]
    (policy,) = entry["AccessPolicies"]
    assert policy["AccessScope"] == {"Type": "cluster"}
    assert policy["PolicyArn"]["Fn::Join"][1][-1] == ":eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def test_nodes_come_after_the_network_and_services_after_the_nodes(template: assertions.Template) -> None:
    by_name = addons(template)
    assert set(by_name) == NETWORK_ADDONS | NODE_ADDONS
    ((node_group_id, node_group),) = template.find_resources("AWS::EKS::Nodegroup").items()
    assert {by_name[name][0] for name in NETWORK_ADDONS} <= set(node_group["DependsOn"])
    for name in NODE_ADDONS:
        assert node_group_id in by_name[name][1]["DependsOn"]


def test_the_driver_of_efs_has_a_role(encrypted: assertions.Template) -> None:
    _, driver = addons(encrypted)["aws-efs-csi-driver"]
    associations = encrypted.find_resources("AWS::EKS::PodIdentityAssociation").items()
    accounts = {each["Properties"]["ServiceAccount"]: id for id, each in associations}
    assert accounts["efs-csi-controller-sa"] in driver["DependsOn"]


def test_accepts_a_network_without_nat() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    network = TrainingNetwork(stack, "Network", nat=False)
    TrainingCluster(stack, "Cluster", vpc=network)
    template = assertions.Template.from_stack(stack)
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    (nodes,) = properties(template, "AWS::EKS::Nodegroup")
    assert cluster["ResourcesVpcConfig"]["SubnetIds"] == nodes["Subnets"]
    assert len(nodes["Subnets"]) == 2


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"kubernetes_version": "1.99"}, ("kubernetes_version",)),
        ({"public_access_cidrs": ["0.0.0.0/0"]}, ("public_access_cidrs",)),
        ({"admin_arns": ["Admin"]}, ("admin_arns", 0)),
        ({"efs": "yes"}, ("efs",)),
        ({"allow_any_address": "yes"}, ("allow_any_address",)),
        ({"vpc": "vpc-1"}, ("vpc",)),
    ],
)
def test_rejects_what_eks_rejects(arguments: dict[str, Any], path: tuple[str | int, ...]) -> None:
    with pytest.raises(InputError) as caught:
        synthesize(**arguments)
    assert [problem.path for problem in caught.value.problems] == [path]


def test_accepts_the_whole_internet_with_a_second_key() -> None:
    template = synthesize(public_access_cidrs=["0.0.0.0/0"], allow_any_address=True)
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    assert cluster["ResourcesVpcConfig"]["PublicAccessCidrs"] == ["0.0.0.0/0"]


def test_none_means_no_address_and_no_administrator() -> None:
    template = synthesize(public_access_cidrs=None, admin_arns=None)
    (cluster,) = properties(template, "AWS::EKS::Cluster")
    assert cluster["ResourcesVpcConfig"]["EndpointPublicAccess"] is False


def subnets(*kinds: ec2.SubnetType) -> list[ec2.SubnetConfiguration]:
    return [ec2.SubnetConfiguration(name=f"Subnet{number}", subnet_type=kind) for number, kind in enumerate(kinds)]


ONE_ZONE = "'vpc' is a Vpc, but it has private subnets in one zone only, and EKS needs two; give a VPC with both"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"subnet_configuration": subnets(ec2.SubnetType.PUBLIC), "nat_gateways": 0},
            "'vpc' is a Vpc, but it has no private subnets, and nodes use no other; give a VPC with two, in two zones",
        ),
        ({"max_azs": 1}, ONE_ZONE),
        ({"max_azs": 1, "subnet_configuration": subnets(*[ec2.SubnetType.PRIVATE_ISOLATED] * 2)}, ONE_ZONE),
    ],
)
def test_rejects_a_vpc_that_eks_rejects(options: dict[str, Any], message: str) -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    with pytest.raises(InputError) as caught:
        TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", **options))
    assert str(caught.value) == message


def test_accepts_subnets_that_are_tokens() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=cdk.Fn.split(",", cdk.Fn.import_value("Zones")),
        private_subnet_ids=cdk.Fn.split(",", cdk.Fn.import_value("Subnets")),
    )
    TrainingCluster(stack, "Cluster", vpc=vpc)


def test_it_is_a_cluster_of_cdk() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    cluster = TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    eks.KubernetesManifest(stack, "Manifest", cluster=cluster, manifest=[{"kind": "Namespace"}])
    cluster.add_manifest("Other", {"kind": "Namespace"})
    template = assertions.Template.from_stack(stack)
    template.resource_count_is("Custom::AWSCDK-EKS-KubernetesResource", 2)
    template.resource_count_is("AWS::EKS::Cluster", 1)


def test_an_administrator_can_be_a_role_of_the_app() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    role = iam.Role(stack, "Admin", assumed_by=iam.AccountRootPrincipal())
    TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2), admin_arns=[role.role_arn, ADMIN])
    entries = properties(assertions.Template.from_stack(stack), "AWS::EKS::AccessEntry")
    principals = [entry["PrincipalArn"] for entry in entries]
    assert stack.resolve(role.role_arn) in principals
    assert ADMIN in principals


@pytest.mark.parametrize("name", ["kubernetes_version"])
def test_a_value_of_the_deployment_is_named_as_one(name: str) -> None:
    with pytest.raises(InputError) as caught:
        synthesize(**{name: cdk.Fn.import_value("Version")})
    assert str(caught.value).startswith(f"'{name}' is a value that only the deployment knows, but ")
