from typing import Any

import pytest
from aws_cdk import App, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks as eks_v1
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer

from tests.constructs.site import Site
from training_cluster import ExistingCluster, TrainingCluster
from training_cluster.checks import check_cluster, check_flag, check_id, check_list, check_string, check_vpc
from training_workloads import InputError

ADVICE = "give a cluster of aws_eks_v2, such as .cluster of a TrainingCluster or of an ExistingCluster"


def refusal(check: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        check("a", *arguments, **options)
    return str(caught.value)


def test_a_cluster_is_taken_as_both_constructs_give_it(site: Site) -> None:
    existing = ExistingCluster(
        site.stack,
        "Existing",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=site.vpc,
    )
    for cluster in (site.cluster, existing.cluster):
        check_cluster("a", cluster, security_group=True)
    assert refusal(check_cluster, existing) == "'a' is an ExistingCluster; give .cluster of it"
    made = TrainingCluster(site.stack, "Made", vpc=site.vpc)
    assert refusal(check_cluster, made) == "'a' is a TrainingCluster; give .cluster of it"


def test_what_is_no_cluster(site: Site) -> None:
    assert refusal(check_cluster, "research") == f"'a' is 'research'; {ADVICE}"
    assert refusal(check_cluster, None) == f"'a' is None; {ADVICE}"
    old = eks_v1.Cluster(
        Stack(App(), "Old"),
        "Cluster",
        version=eks_v1.KubernetesVersion.V1_33,
        kubectl_layer=KubectlV35Layer(site.stack, "OldLayer"),
    )
    assert refusal(check_cluster, old) == f"'a' is a Cluster; {ADVICE}"


def test_what_an_imported_cluster_lacks(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    check_cluster("a", bare, kubectl=False)
    assert refusal(check_cluster, bare) == (
        "'a' was imported without kubectl; use ExistingCluster and give .cluster of it"
    )
    assert refusal(check_cluster, bare, kubectl=False, security_group=True) == (
        "'a' was imported without its security group; use ExistingCluster and give .cluster of it"
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [("no", "'no'"), (0, "0"), (None, "None"), (ec2.DefaultInstanceTenancy.DEFAULT, "DefaultInstanceTenancy.DEFAULT")],
)
def test_what_is_no_flag(value: Any, told: str) -> None:
    assert refusal(check_flag, value) == f"'a' is {told}; give True or False"


def test_what_is_no_string_and_no_list() -> None:
    assert refusal(check_string, 1, "x") == "'a' is 1; give the name as a string, such as 'x'"
    assert refusal(check_list, {1}) == "'a' is a set; give a list"


def test_ids() -> None:
    for value in ("sg-0123456789abcdef0", "sg-01234567", Token.as_string({"Ref": "Group"})):
        check_id("a", value, "sg", "aws")
    assert refusal(check_id, "subnet-01234567", "sg", "aws ec2") == (
        "'a' is 'subnet-01234567'; give an id such as sg-0123456789abcdef0 (aws ec2)"
    )


def test_a_vpc_by_its_id() -> None:
    assert refusal(check_vpc, "vpc-1") == "'a' is 'vpc-1'; give a VPC, such as .vpc of a TrainingNetwork"
