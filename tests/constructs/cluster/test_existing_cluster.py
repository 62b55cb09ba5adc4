import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.site import properties
from training_cluster import ExistingCluster, MpiOperator
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
