import json
from typing import Any

from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.account.deployed_stack import DeployedStack, find_stack
from training_cluster.account.kept_resources import KeptResource, kept_by_data_stack, kept_resources
from training_cluster.cli.account_output import kept_lines

GIB = 1024**3
DATA = {
    "Bucket": ("AWS::S3::Bucket", "bucket"),
    "Policy": ("AWS::S3::BucketPolicy", "bucket"),
    "Images": ("AWS::ECR::Repository", "images"),
    "Key": ("AWS::KMS::Key", "key"),
}


def deployed(account: StubbedAccount, resources: dict[str, tuple[str, str]]) -> DeployedStack:
    account.answer_stack(resources)
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    return stack


def test_what_the_template_retains_stays() -> None:
    account = StubbedAccount()
    stack = deployed(
        account,
        {
            "Efs": ("AWS::EFS::FileSystem", "fs-1"),
            "Logs": ("AWS::Logs::LogGroup", "/jobs"),
            "Vpc": ("AWS::EC2::VPC", "vpc-1"),
        },
    )
    resources = {
        "Efs": {"Type": "AWS::EFS::FileSystem", "DeletionPolicy": "Retain"},
        "Logs": {"Type": "AWS::Logs::LogGroup", "DeletionPolicy": "RetainExceptOnCreate"},
        "Vpc": {"Type": "AWS::EC2::VPC"},
    }
    account.answer("cloudformation", "get_template", {"TemplateBody": json.dumps({"Resources": resources})})
    size = {"SizeInBytes": {"Value": 10 * GIB}}
    common = {"OwnerId": "1", "CreationToken": "1", "CreationTime": 0, "LifeCycleState": "available"}
    efs = {**common, "FileSystemId": "fs-1", "NumberOfMountTargets": 1, "PerformanceMode": "generalPurpose", "Tags": []}
    account.answer("efs", "describe_file_systems", {"FileSystems": [{**efs, **size}]}, {"FileSystemId": "fs-1"})
    assert kept_resources(account, stack) == [
        KeptResource(kind="AWS::EFS::FileSystem", id="fs-1", gib=10.0, usd_per_month=3.0),
        KeptResource(kind="AWS::Logs::LogGroup", id="/jobs"),
    ]


YAML = """
Resources:
  Logs:
    Type: AWS::Logs::LogGroup
    DeletionPolicy: Retain
    Properties:
      LogGroupName: !Sub "/jobs/${AWS::Region}"
      KmsKeyId: !GetAtt [Key, Arn]
      Tags: !If [Wanted, [], !Ref AWS::NoValue]
  Vpc:
    Type: AWS::EC2::VPC
"""


def test_a_template_in_yaml_is_read() -> None:
    account = StubbedAccount()
    stack = deployed(account, {"Logs": ("AWS::Logs::LogGroup", "/jobs"), "Vpc": ("AWS::EC2::VPC", "vpc-1")})
    account.answer("cloudformation", "get_template", {"TemplateBody": YAML})
    assert kept_resources(account, stack) == [KeptResource(kind="AWS::Logs::LogGroup", id="/jobs")]


def test_the_data_stack_costs_what_it_holds() -> None:
    account = StubbedAccount()
    stack = deployed(account, DATA)
    account.answer_metric(0, 100 * GIB, statistic="Average")
    account.answer("ecr", "describe_images", {"imageDetails": [{"imageSizeInBytes": 5 * GIB}] * 2})
    kept = kept_by_data_stack(account, stack)
    assert [(each.id, each.gib, each.usd_per_month) for each in kept] == [
        ("bucket", 100.0, 2.3),
        ("images", 10.0, 1.0),
        ("key", None, 1.0),
    ]
    assert kept_lines(kept) == [
        "  AWS::S3::Bucket bucket: 100.0 GiB, 2.30 USD a month",
        "  AWS::ECR::Repository images: 10.0 GiB, 1.00 USD a month",
        "  AWS::KMS::Key key: 1.00 USD a month",
        "  together 4.30 USD a month in us-east-1, without requests",
    ]


def test_a_size_that_is_not_known_has_no_cost() -> None:
    account = StubbedAccount()
    stack = deployed(account, DATA)
    account.answer_metric(statistic="Average")
    account.forbid("ecr", "describe_images")
    kept = kept_by_data_stack(account, stack)
    assert kept_lines(kept) == [
        "  AWS::S3::Bucket bucket: cost not known",
        "  AWS::ECR::Repository images: cost not known",
        "  AWS::KMS::Key key: 1.00 USD a month",
        "  together at least 1.00 USD a month in us-east-1, without requests",
    ]


def namespace(name: str, *values: Any) -> dict[str, Any]:
    labels = {f"label{number}": "value" for number, _ in enumerate(values)}
    text = json.dumps([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}])
    start, *rest = text.split("value")
    parts = [start, *(part for pair in zip(values, rest, strict=True) for part in pair)]
    properties = {"ClusterName": "jobs", "Manifest": {"Fn::Join": ["", parts]} if values else text}
    return {"Type": MANIFEST, "DeletionPolicy": "Retain", "Properties": properties}


MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"


def kept_with_namespaces(*, cluster: bool) -> list[KeptResource]:
    account = StubbedAccount()
    physical = {"Team": (MANIFEST, "0123"), "Operator": (MANIFEST, "4567"), "Budget": (MANIFEST, "89ab")}
    own = {"Cluster": ("AWS::EKS::Cluster", "jobs")} if cluster else {}
    stack = deployed(account, physical | own)
    budget = {"Type": MANIFEST, "DeletionPolicy": "Delete", "Properties": {"Manifest": "[]"}}
    resources = {
        "Team": namespace("team", {"Ref": "AWS::Region"}),
        "Operator": namespace("mpi-operator"),
        "Budget": budget,
    }
    account.answer("cloudformation", "get_template", {"TemplateBody": json.dumps({"Resources": resources})})
    return kept_resources(account, stack)


def test_namespaces_stay_in_a_cluster_that_the_stack_imports() -> None:
    assert kept_lines(kept_with_namespaces(cluster=False)) == [
        "  Namespace team: 0.00 USD a month",
        "  Namespace mpi-operator: 0.00 USD a month",
        "  together 0.00 USD a month in us-east-1, without requests",
    ]


def test_namespaces_go_with_the_cluster_of_the_stack() -> None:
    assert kept_with_namespaces(cluster=True) == []
