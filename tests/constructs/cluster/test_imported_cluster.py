from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks

from tests.constructs.site import properties
from training_cluster import ImportedCluster, MpiOperator, TrainingCluster, TrainingNetwork
from training_workloads import InputError

LAYER = "AWS::Lambda::LayerVersion"
ATTRIBUTES = {"cluster_name": "research", "cluster_security_group_id": "sg-0123456789abcdef0"}


def imported(stack: cdk.Stack, **given: Any) -> ImportedCluster:
    return TrainingCluster.from_cluster_attributes(stack, "Cluster", **ATTRIBUTES | given)


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Site")


def test_kubectl_has_access_before_its_first_use(stack: cdk.Stack) -> None:
    MpiOperator(stack, "Operator", cluster=imported(stack, vpc=ec2.Vpc(stack, "Vpc", max_azs=2)))
    made = assertions.Template.from_stack(stack)
    ((entry_id, entry),) = made.find_resources("AWS::EKS::AccessEntry").items()
    assert entry["Properties"]["ClusterName"] == "research"
    functions = made.find_resources("AWS::Lambda::Function")
    tokens = {m["ServiceToken"]["Fn::GetAtt"][0] for m in properties(made, "Custom::AWSCDK-EKS-KubernetesResource")}
    (token,) = tokens
    assert entry_id in functions[token]["DependsOn"]
    handler = entry["Properties"]["PrincipalArn"]["Fn::GetAtt"][0]
    assert handler in made.find_resources("AWS::IAM::Role")
    made.resource_count_is("AWS::EKS::Cluster", 0)


def test_node_groups_join_it(stack: cdk.Stack) -> None:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    imported(stack, vpc=vpc).add_gpu_node_group("gpu", instance_type="p3dn.24xlarge")
    (group,) = properties(assertions.Template.from_stack(stack), "AWS::EKS::Nodegroup")
    assert group["ClusterName"] == "research"
    assert group["Subnets"] == [stack.resolve(vpc.private_subnets[0].subnet_id)]
    assert "Version" not in group


def test_the_members_of_cdks_interface(stack: cdk.Stack) -> None:
    cluster = imported(stack, vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    assert cluster.cluster_arn.endswith(":cluster/research")
    cluster.connections.allow_from_any_ipv4(ec2.Port.tcp(443))
    cluster.add_manifest("Manifest", {"kind": "Namespace"})
    eks.HelmChart(stack, "Chart", cluster=cluster, chart="nginx")
    made = assertions.Template.from_stack(stack)
    made.resource_count_is("Custom::AWSCDK-EKS-KubernetesResource", 1)
    made.resource_count_is("Custom::AWSCDK-EKS-HelmChart", 1)
    (rule,) = properties(made, "AWS::EC2::SecurityGroupIngress")
    assert (rule["GroupId"], rule["FromPort"]) == ("sg-0123456789abcdef0", 443)


def rejection(stack: cdk.Stack, vpc_attributes: dict[str, Any] | None = None, **given: Any) -> InputError:
    subnets = vpc_attributes or {"private_subnet_ids": ["subnet-0123456789abcdef0"]}
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"], **subnets
    )
    with pytest.raises(InputError) as caught:
        imported(stack, **{"vpc": vpc} | given)
    return caught.value


def test_rejects_a_vpc_without_subnets_for_kubectl(stack: cdk.Stack) -> None:
    error = rejection(stack, {"public_subnet_ids": ["subnet-0123456789abcdef0"]})
    assert "it has no private subnets; give private_subnet_ids" in str(error)


def test_rejects_the_id_of_a_vpc(stack: cdk.Stack) -> None:
    message = "'vpc' is 'vpc-0123456789abcdef0'; give a VPC, such as a TrainingNetwork"
    assert str(rejection(stack, vpc="vpc-0123456789abcdef0")) == message


def test_kubectl_runs_in_isolated_subnets_where_there_are_no_others(stack: cdk.Stack) -> None:
    imported(stack, vpc=TrainingNetwork(stack, "Network", nat=False))
    functions = properties(assertions.Template.from_stack(stack), "AWS::Lambda::Function")
    (handler,) = [each for each in functions if each["Handler"] == "index.handler" and "VpcConfig" in each]
    assert len(handler["VpcConfig"]["SubnetIds"]) == 2


FIX = "give the cluster's name, as 'aws eks describe-cluster --name' takes it"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", f"'cluster_name' is ''; {FIX}"),
        ("my cluster", f"'cluster_name' is 'my cluster'; {FIX}"),
        (None, f"'cluster_name' is None; {FIX}"),
        (
            "arn:aws:eks:us-east-1:111122223333:cluster/research",
            "'cluster_name' is 'arn:aws:eks:us-east-1:111122223333:cluster/research'; give its name, research",
        ),
    ],
)
def test_rejects_a_name_that_no_cluster_has(name: Any, message: str, stack: cdk.Stack) -> None:
    assert str(rejection(stack, cluster_name=name)) == message


@pytest.mark.parametrize("group", ["my-sg", None])
def test_rejects_a_security_group_that_is_no_id(group: Any, stack: cdk.Stack) -> None:
    (problem,) = rejection(stack, cluster_security_group_id=group).problems
    assert problem.path == ("cluster_security_group_id",)
    assert "--query cluster.resourcesVpcConfig.clusterSecurityGroupId" in problem.fix


@pytest.mark.parametrize(
    ("version", "layer", "warning"),
    [
        (
            "1.33",
            "1.34.",
            "kubectl is of 1.34, the nearest one here: Kubernetes supports one minor version of difference",
        ),
        ("1.31", "1.34.", "so a manifest may fail; upgrade the cluster"),
        ("1.38", "1.37.", "kubectl is of 1.37"),
    ],
)
def test_any_release_that_eks_runs_gets_the_nearest_kubectl(
    version: str, layer: str, warning: str, stack: cdk.Stack
) -> None:
    imported(stack, vpc=ec2.Vpc(stack, "Vpc", max_azs=2), kubernetes_version=version).add_platform("Platform")
    descriptions = [one["Description"] for one in properties(assertions.Template.from_stack(stack), LAYER)]
    assert any(one.startswith(f"/opt/kubectl/kubectl {layer}") for one in descriptions)
    warnings = assertions.Annotations.from_stack(stack).find_warning("*", assertions.Match.any_value())
    assert any(warning in str(one.entry.data) for one in warnings)


def test_a_release_with_its_own_kubectl_has_no_warning(stack: cdk.Stack) -> None:
    imported(stack, vpc=ec2.Vpc(stack, "Vpc", max_azs=2), kubernetes_version="1.36")
    pattern = assertions.Match.string_like_regexp("kubectl is of")
    assert assertions.Annotations.from_stack(stack).find_warning("*", pattern) == []


def test_rejects_a_release_that_eks_no_longer_runs(stack: cdk.Stack) -> None:
    error = rejection(stack, kubernetes_version="1.29")
    assert str(error) == (
        "'kubernetes_version' is '1.29'; give the release of the cluster, in quotes; the oldest that EKS runs is 1.31"
    )


def test_reports_all_problems_at_once(stack: cdk.Stack) -> None:
    error = rejection(stack, cluster_name="", cluster_security_group_id="", kubernetes_version="1.29")
    paths = [problem.path for problem in error.problems]
    assert paths == [("cluster_name",), ("cluster_security_group_id",), ("kubernetes_version",)]


def test_accepts_tokens(stack: cdk.Stack) -> None:
    name, group = (cdk.CfnParameter(stack, each).value_as_string for each in ("Name", "Group"))
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    imported(stack, cluster_name=name, cluster_security_group_id=group, vpc=vpc)
