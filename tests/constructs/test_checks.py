from typing import Any

import pytest
from aws_cdk import App, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks as eks_v1
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer

from tests.constructs.site import Site
from training_cluster import TrainingBucket, TrainingCluster, TrainingKey, TrainingNetwork
from training_cluster.checks import Bucket, Key, Mirror, Subnets, Vpc, valid_cluster, valid_folder
from training_workloads import InputError
from training_workloads.spec import Spec
from training_workloads.validation import Problems

FIX = "give a cluster of aws_eks_v2, such as a TrainingCluster"
IMPORT = "import it with TrainingCluster.from_cluster_attributes"


def text(problems: Problems) -> str:
    return "\n".join(map(str, problems))


def test_accepts_clusters_of_ours_and_of_cdk(site: Site) -> None:
    imported = TrainingCluster.from_cluster_attributes(
        site.stack,
        "Imported",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=site.vpc,
    )
    for cluster in (site.cluster, imported, TrainingCluster(site.stack, "Training", vpc=site.vpc)):
        assert not text(valid_cluster("a", cluster, security_group=True))


def test_rejects_other_types_than_a_cluster(site: Site) -> None:
    assert text(valid_cluster("a", "research")) == f"'a' is 'research'; {FIX}"
    assert text(valid_cluster("a", None)) == f"'a' is None; {FIX}"
    old = eks_v1.Cluster(
        Stack(App(), "Old"),
        "Cluster",
        version=eks_v1.KubernetesVersion.V1_33,
        kubectl_layer=KubectlV35Layer(site.stack, "OldLayer"),
    )
    assert text(valid_cluster("a", old)) == f"'a' is a Cluster; {FIX}"


def test_rejects_a_cluster_that_was_imported_without_what_is_used(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    assert not text(valid_cluster("a", bare, kubectl=False))
    assert text(valid_cluster("a", bare)) == f"'a' is 'research', but it was imported without kubectl; {IMPORT}"
    assert text(valid_cluster("a", bare, kubectl=False, security_group=True)).splitlines() == [
        f"'a' is 'research', but it was imported without its security group; {IMPORT}",
        f"'a' is 'research', but it was imported without its VPC; {IMPORT}",
    ]


class Taken(Spec):
    """Keywords with types of the CDK."""

    bucket: Bucket | None = None
    key: Key | None = None
    vpc: Vpc | None = None
    subnets: Subnets = ()
    mirror: Mirror | None = None


def problem(**given: Any) -> str:
    with pytest.raises(InputError) as caught:
        Taken(**given)
    return str(caught.value)


def test_rejects_other_text_than_an_ecr_registry() -> None:
    for value in (None, "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror", Token.as_string({"Ref": "Mirror"})):
        assert Taken(mirror=value).mirror == value
    assert problem(mirror="docker.io/x").startswith("'mirror' is 'docker.io/x'; give the address of an ECR registry")


def test_rejects_ids_in_the_place_of_subnets() -> None:
    assert problem(subnets="subnet-1") == "'subnets' is 'subnet-1'; give a list"
    assert problem(subnets=["subnet-1"]) == "'subnets[0]' is 'subnet-1'; give a subnet, such as vpc.private_subnets[0]"


def test_rejects_the_id_of_a_vpc(site: Site) -> None:
    assert problem(vpc="vpc-1") == "'vpc' is 'vpc-1'; give a VPC, such as a TrainingNetwork"
    # A class has the attributes of its objects.
    assert problem(vpc=ec2.Vpc) == "'vpc' is the class Vpc; give a VPC, such as a TrainingNetwork"
    network = TrainingNetwork(site.stack, "Network")
    assert Taken(vpc=network).vpc is network


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("s3://mine/runs", "'a' is 's3://mine/runs'; give the folder without s3://mine/: runs"),
        ("s3://mine", "'a' is 's3://mine'; give the folder without s3://mine, such as runs"),
        ("arn:aws:s3:::mine/runs", "'a' is 'arn:aws:s3:::mine/runs'; give the folder without arn:aws:s3:::mine/: runs"),
        (
            "arn:aws:iam::1:x",
            "'a' is 'arn:aws:iam::1:x', but that is an ARN; give a folder of the bucket, such as runs",
        ),
        ("runs//a", "'a' is 'runs//a', but a folder between // has no name; give runs/a"),
        ("../runs", "'a' is '../runs', but S3 has no '.' and '..'; give the folder's whole name, such as runs"),
        ("runs/a", ""),
    ],
)
def test_rejects_an_invalid_folder(folder: str, message: str) -> None:
    assert text(valid_folder("a", folder)) == message


def test_rejects_a_new_cluster_without_kubectl() -> None:
    stack = Stack(App(), "Stack")
    cluster = eks.Cluster(stack, "Cluster", version=eks.KubernetesVersion.V1_35)
    assert text(valid_cluster("a", cluster)) == (
        "'a' is 'Stack/Cluster', but it has no kubectl; give it kubectl_provider_options"
    )


def test_rejects_a_class_in_the_place_of_an_object() -> None:
    assert problem(bucket=TrainingBucket).startswith("'bucket' is the class TrainingBucket; give a bucket")
    assert problem(key=TrainingKey).startswith("'key' is the class TrainingKey; give a key")
