"""Every log group that the stacks cause is theirs: encrypted, with an end, and not left behind."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from tests.stacks.templates import templates
from training_cluster import TrainingNetwork

GROUP = "AWS::Logs::LogGroup"


@pytest.fixture(params=["SageMakerTrainingStack", "TrainingClusterStack", "TrainingDataStack"])
def template(request: pytest.FixtureRequest) -> assertions.Template:
    return templates("p4d-reservation")[request.param]


def groups(template: assertions.Template) -> dict[str, Any]:
    return dict(template.find_resources(GROUP))


def test_every_function_writes_into_a_group_of_the_stack(template: assertions.Template) -> None:
    owned = groups(template)
    for id, function in template.find_resources("AWS::Lambda::Function").items():
        group = function["Properties"].get("LoggingConfig", {}).get("LogGroup", {}).get("Ref")
        by_name = [each for each in owned.values() if id in str(each["Properties"].get("LogGroupName"))]
        assert group in owned or by_name, id


def test_the_control_plane_writes_into_a_group_that_exists_before_it() -> None:
    template = templates("p4d-reservation")["TrainingClusterStack"]
    (cluster,) = template.find_resources("AWS::EKS::Cluster").values()
    name = cluster["Properties"]["Name"]["Fn::Join"]
    ((id, group),) = [
        (id, each)
        for id, each in groups(template).items()
        if "/aws/eks/" in str(each["Properties"].get("LogGroupName"))
    ]
    assert group["Properties"]["LogGroupName"] == {"Fn::Join": ["", ["/aws/eks/", {"Fn::Join": name}, "/cluster"]]}
    assert id in cluster["DependsOn"]


def test_every_group_is_encrypted_and_forgets(template: assertions.Template) -> None:
    for id, group in groups(template).items():
        assert group["Properties"]["RetentionInDays"] <= 90, id
        assert "KmsKeyId" in group["Properties"], id


def test_only_the_output_of_the_jobs_outlives_its_stack(template: assertions.Template) -> None:
    kept = [
        str(group["Properties"].get("LogGroupName"))
        for group in groups(template).values()
        if group["DeletionPolicy"] != "Delete"
    ]
    is_of_the_cluster = bool(template.find_resources("AWS::EKS::Cluster"))
    assert ["application" in name for name in kept] == [True] * is_of_the_cluster


def test_a_second_deployment_has_other_names() -> None:
    """The name of the cluster has the id of the stack, which is another one with each creation."""
    template = templates("p4d-reservation")["TrainingClusterStack"]
    (cluster,) = template.find_resources("AWS::EKS::Cluster").values()
    assert "AWS::StackId" in str(cluster["Properties"]["Name"])
    for group in groups(template).values():
        name = group["Properties"].get("LogGroupName")
        assert name is None or isinstance(name, dict)


def test_the_network_alone_owns_its_functions_logs_once() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingNetwork(stack, "One")
    TrainingNetwork(stack, "Two")
    template = assertions.Template.from_stack(stack)
    template.resource_count_is("AWS::Lambda::Function", 1)
    template.resource_count_is(GROUP, 3)
