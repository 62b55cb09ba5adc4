from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.site import properties
from training_cluster import ExistingCluster, MpiOperator, TrainingNetwork
from training_workloads import InputError


def stack_with_cluster(**arguments: str) -> cdk.Stack:
    stack = cdk.Stack(cdk.App(), "Site")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    existing = ExistingCluster(
        stack,
        "Cluster",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=vpc,
        **arguments,
    )
    MpiOperator(stack, "Operator", cluster=existing.cluster)
    return stack


def test_kubectl_is_let_in_before_it_is_used() -> None:
    made = assertions.Template.from_stack(stack_with_cluster())
    ((entry_id, entry),) = made.find_resources("AWS::EKS::AccessEntry").items()
    assert entry["Properties"]["ClusterName"] == "research"
    functions = made.find_resources("AWS::Lambda::Function")
    tokens = {m["ServiceToken"]["Fn::GetAtt"][0] for m in properties(made, "Custom::AWSCDK-EKS-KubernetesResource")}
    (token,) = tokens
    assert entry_id in functions[token]["DependsOn"]
    handler = entry["Properties"]["PrincipalArn"]["Fn::GetAtt"][0]
    assert handler in made.find_resources("AWS::IAM::Role")


def test_no_cluster_is_made() -> None:
    assertions.Template.from_stack(stack_with_cluster()).resource_count_is("AWS::EKS::Cluster", 0)


def test_a_release_without_kubectl() -> None:
    with pytest.raises(InputError, match=r"^'kubernetes_version' is '1.29'; give one of 1.34, 1.35$"):
        stack_with_cluster(kubernetes_version="1.29")


def existing(vpc_attributes: dict[str, Any] | None = None, **given: Any) -> tuple[str, ...]:
    stack = cdk.Stack(cdk.App(), "Site")
    subnets = vpc_attributes or {"private_subnet_ids": ["subnet-0123456789abcdef0"]}
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"], **subnets
    )
    arguments = {"cluster_name": "research", "cluster_security_group_id": "sg-0123456789abcdef0", "vpc": vpc} | given
    with pytest.raises(InputError) as caught:
        ExistingCluster(stack, "Cluster", **arguments)
    return caught.value.args


def test_a_vpc_without_a_place_for_kubectl() -> None:
    assert existing({"public_subnet_ids": ["subnet-0123456789abcdef0"]}) == (
        "'vpc' has no private subnets; give private_subnet_ids, those from which its API is reached",
    )
    assert existing(vpc="vpc-0123456789abcdef0") == (
        "'vpc' is 'vpc-0123456789abcdef0'; give a VPC, such as .vpc of a TrainingNetwork",
    )


def test_kubectl_runs_in_isolated_subnets_where_there_are_no_others() -> None:
    stack = cdk.Stack(cdk.App(), "Site")
    network = TrainingNetwork(stack, "Network", nat=False)
    ExistingCluster(
        stack, "Cluster", cluster_name="research", cluster_security_group_id="sg-0123456789abcdef0", vpc=network.vpc
    )
    functions = properties(assertions.Template.from_stack(stack), "AWS::Lambda::Function")
    (handler,) = [each for each in functions if each["Handler"] == "index.handler" and "VpcConfig" in each]
    assert len(handler["VpcConfig"]["SubnetIds"]) == 2


ADVICE = "give the cluster's name, as 'aws eks describe-cluster --name <name>' takes it"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", f"'cluster_name' is ''; {ADVICE}"),
        ("my cluster", f"'cluster_name' is 'my cluster'; {ADVICE}"),
        (None, f"'cluster_name' is None; {ADVICE}"),
        (
            "arn:aws:eks:us-east-1:111122223333:cluster/research",
            "'cluster_name' is 'arn:aws:eks:us-east-1:111122223333:cluster/research'; give its name, research",
        ),
    ],
)
def test_a_name_that_no_cluster_has(name: Any, message: str) -> None:
    assert existing(cluster_name=name) == (message,)


@pytest.mark.parametrize("group", ["my-sg", None])
def test_a_security_group_that_is_no_id(group: Any) -> None:
    assert existing(cluster_security_group_id=group) == (
        f"'cluster_security_group_id' is {group!r}; give an id such as sg-0123456789abcdef0 (aws eks describe-cluster "
        "--name <name> --query cluster.resourcesVpcConfig.clusterSecurityGroupId)",
    )


def test_mistakes_are_told_together() -> None:
    told = existing(cluster_name="", cluster_security_group_id="", kubernetes_version="1.29")
    assert [mistake.split("'")[1] for mistake in told] == [
        "cluster_name",
        "cluster_security_group_id",
        "kubernetes_version",
    ]


def test_values_that_the_deployment_knows() -> None:
    stack = cdk.Stack(cdk.App(), "Site")
    name, group = (cdk.CfnParameter(stack, each).value_as_string for each in ("Name", "Group"))
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    ExistingCluster(stack, "Cluster", cluster_name=name, cluster_security_group_id=group, vpc=vpc)
