from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from tests.constructs.site import properties
from training_cluster import (
    CompleteSageMakerTraining,
    ImageRepository,
    SageMakerConfig,
    TrainingBucket,
    TrainingNetwork,
)
from training_workloads import InputError

ZONES = ("us-west-2b", "us-west-2a")
EXISTING = {
    "availability_zones": ZONES,
    "existing_vpc": {
        "vpc_id": "vpc-0123456789abcdef0",
        "private_subnet_ids": ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
    },
    "existing_lustre": {
        "file_system_id": "fs-0123456789abcdef0",
        "mount_name": "abcdefgh",
        "capacity_gib": 2400,
        "security_group_id": "sg-0123456789abcdef0",
    },
    "existing_efs": {"file_system_id": "fs-0123456789abcdef1", "access_point_id": "fsap-0123456789abcdef0"},
}


def define(**section: Any) -> CompleteSageMakerTraining:
    stack = cdk.Stack(cdk.App(), "SageMakerTrainingStack")
    return CompleteSageMakerTraining(
        stack,
        "Default",
        config=SageMakerConfig.model_validate(section),
        bucket=TrainingBucket(stack, "Bucket"),
        repository=ImageRepository(stack, "Images"),
    )


def template(made: CompleteSageMakerTraining) -> assertions.Template:
    return assertions.Template.from_stack(cdk.Stack.of(made))


def outputs(made: CompleteSageMakerTraining) -> dict[str, Any]:
    return {name: each["Value"] for name, each in template(made).to_json()["Outputs"].items()}


def test_by_default_there_is_a_private_network_and_data_in_s3() -> None:
    made = define()
    found = template(made)
    for kind in ("FSx::FileSystem", "EFS::FileSystem", "SageMaker::NotebookInstance", "EC2::NatGateway"):
        found.resource_count_is(f"AWS::{kind}", 0)
    assert isinstance(made.network, TrainingNetwork)
    # What other stacks may import is always exported.
    assert {name for name in outputs(made) if not name.startswith("Exports")} == {
        "TrainingRoleArn",
        "SubnetIds",
        "SecurityGroupId",
        "BucketName",
        "DataPrefix",
        "ImageRepositoryUri",
        "JobTag",
    }
    assert len(outputs(made)["SubnetIds"]["Fn::Join"][1]) == 3


def test_new_file_systems_and_a_notebook_are_outputs_too() -> None:
    notebook = {"repository": "https://github.com/my-team/training.git"}
    made = define(availability_zones=ZONES, nat=True, lustre={"capacity_gib": 2400}, efs=True, notebook=notebook)
    found = template(made)
    (lustre,) = properties(found, "AWS::FSx::FileSystem")
    assert lustre["StorageCapacity"] == 2400
    # Jobs run in the zone of Lustre only.
    assert lustre["SubnetIds"] == [outputs(made)["SubnetIds"]]
    found.resource_count_is("AWS::FSx::DataRepositoryAssociation", 1)
    assert outputs(made).keys() >= {
        "LustreFileSystemId",
        "LustreMountName",
        "ElasticFileSystemId",
        "NotebookInstanceName",
    }


def test_a_lustre_can_be_in_another_zone_than_the_first() -> None:
    made = define(availability_zones=ZONES, lustre={"availability_zone": "us-west-2a"})
    subnets = template(made).find_resources("AWS::EC2::Subnet")
    (zone,) = {subnets[outputs(made)["SubnetIds"]["Ref"]]["Properties"]["AvailabilityZone"]}
    assert zone == "us-west-2a"


def test_the_new_efs_accepts_the_mounts_of_sagemaker() -> None:
    (files,) = properties(template(define(efs=True)), "AWS::EFS::FileSystem")
    (statement,) = files["FileSystemPolicy"]["Statement"]
    assert statement["Effect"] == "Allow"
    assert statement["Condition"] == {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}}
    assert "elasticfilesystem:ClientRootAccess" in statement["Action"]


def test_what_exists_is_used() -> None:
    made = define(**EXISTING)
    found = template(made)
    for kind in ("EC2::VPC", "FSx::FileSystem", "EFS::FileSystem"):
        found.resource_count_is(f"AWS::{kind}", 0)
    values = outputs(made)
    assert values["SubnetIds"] == "subnet-0123456789abcdef0"
    assert (values["LustreFileSystemId"], values["LustreMountName"]) == ("fs-0123456789abcdef0", "abcdefgh")
    assert values["ElasticFileSystemId"] == "fs-0123456789abcdef1"
    opened = {
        each["GroupId"]
        for each in properties(found, "AWS::EC2::SecurityGroupIngress")
        if isinstance(each["GroupId"], str)
    }
    assert opened == {"sg-0123456789abcdef0"}


def test_an_existing_vpc_is_warned_about_its_endpoints() -> None:
    warnings = assertions.Annotations.from_stack(cdk.Stack.of(define(**EXISTING)))
    warnings.has_warning(
        "*", assertions.Match.string_like_regexp("'sagemaker.existing_vpc' needs NAT, or .*sagemaker.api")
    )


def test_no_stack_owns_the_log_group_of_all_training_jobs() -> None:
    """It is the account's: docs/adr/0025."""
    groups = properties(template(define(notebook=True)), "AWS::Logs::LogGroup")
    assert not [each for each in groups if "/aws/sagemaker" in str(each.get("LogGroupName"))]


def test_rejects_objects_of_other_types() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    with pytest.raises(InputError) as caught:
        CompleteSageMakerTraining(stack, "Training", config="sagemaker", bucket="b", repository="r")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("config",), ("bucket",), ("repository",)]
