import tomllib
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from tests.constructs.keyword import problems_of
from training_cluster import TrainingCluster
from training_cluster.checks import RunningVersion
from training_cluster.cluster.kubectl import kubectl_layer
from training_workloads.catalog.versions import KUBERNETES_VERSIONS


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_every_release_has_its_kubectl(version: str, root: Path) -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    layer = kubectl_layer(stack, "Layer", kubernetes_version=version)
    assert layer.node.path == "Stack/Layer"
    assert str(stack.resolve(layer.node.default_child.description)).startswith(f"/opt/kubectl/kubectl {version}.")  # type: ignore[union-attr]
    dependencies = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    package = f"aws-cdk.lambda-layer-kubectl-v{version.partition('.')[2]}>"
    assert any(dependency.startswith(package) for dependency in dependencies)


@pytest.mark.parametrize("version", ["1.30", "2.0", "1.5", "latest", "1.35.0", None])
def test_rejects_other_releases_than_eks_runs(version: str | None) -> None:
    (problem,) = problems_of(RunningVersion, version)
    assert "; give the release of the cluster, in quotes; the oldest that EKS runs" in str(problem)


FLAG = "@aws-cdk/aws-lambda:useCdkManagedLogGroup"

Resources = dict[str, dict[str, Any]]


def resources(*, flag: bool, key: bool = False, imported: bool = False) -> Resources:
    stack = cdk.Stack(cdk.App(context={FLAG: True} if flag else {}), "Stack")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, restrict_default_security_group=False)
    if imported:
        cluster = TrainingCluster.from_cluster_attributes(
            stack, "Jobs", cluster_name="jobs", cluster_security_group_id="sg-0123456789abcdef0", vpc=vpc
        )
        cluster.add_namespaces(["team"])
    else:
        TrainingCluster(stack, "Cluster", vpc=vpc, encryption_key=kms.Key(stack, "Key") if key else None)
    found: Resources = assertions.Template.from_stack(stack).to_json()["Resources"]
    return found


def of_type(kind: str, found: Resources) -> Resources:
    return {id: resource for id, resource in found.items() if resource["Type"] == kind}


@pytest.mark.parametrize("imported", [False, True])
def test_every_function_writes_into_a_group_that_goes_with_the_stack(imported: bool) -> None:
    found = resources(flag=False, imported=imported)
    groups = of_type("AWS::Logs::LogGroup", found)
    functions = of_type("AWS::Lambda::Function", found)
    # Two of kubectl, and the one that suspends the balance of the zones of the cluster's own nodes.
    assert len(functions) == (2 if imported else 3)
    for function in functions.values():
        group = groups[function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]]
        assert group["DeletionPolicy"] == "Delete"
        # Not the function's name: the group is there before the first line, and until the last.
        assert group["Properties"] == {"RetentionInDays": 30}


def test_a_flag_of_the_app_changes_nothing() -> None:
    plain, flagged = (resources(flag=flag) for flag in (False, True))
    for kind in ("AWS::Logs::LogGroup", "AWS::Lambda::Function"):
        assert of_type(kind, plain) == of_type(kind, flagged)


def test_the_groups_have_the_key_of_the_cluster() -> None:
    found = resources(flag=False, key=True)
    (key,) = of_type("AWS::KMS::Key", found)
    groups = of_type("AWS::Logs::LogGroup", found).values()
    assert len(groups) == 4
    assert all(group["Properties"]["KmsKeyId"] == {"Fn::GetAtt": [key, "Arn"]} for group in groups)
