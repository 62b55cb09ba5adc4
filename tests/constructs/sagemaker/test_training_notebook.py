from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.instance_types import RETIRED
from tests.constructs.site import properties
from training_cluster import ImageRepository, SageMakerTraining, TrainingBucket, TrainingKey, TrainingNotebook
from training_cluster.sagemaker.training_notebook import NotebookSpec
from training_workloads import InputError

REPOSITORY = "https://github.com/my-team/training.git"


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Stack")


@pytest.fixture
def training(stack: cdk.Stack) -> SageMakerTraining:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    bucket, repository = TrainingBucket(stack, "Bucket"), ImageRepository(stack, "Images")
    return SageMakerTraining(stack, "Training", vpc=vpc, bucket=bucket, repository=repository)


def test_it_is_private_and_clones_the_repository(stack: cdk.Stack, training: SageMakerTraining) -> None:
    key = TrainingKey(stack, "Key")
    made = TrainingNotebook(stack, "Notebook", training=training, repository=REPOSITORY, encryption_key=key)
    template = assertions.Template.from_stack(stack)
    (notebook,) = properties(template, "AWS::SageMaker::NotebookInstance")
    assert notebook == {
        "DefaultCodeRepository": REPOSITORY,
        "DirectInternetAccess": "Disabled",
        "InstanceMetadataServiceConfiguration": {"MinimumInstanceMetadataServiceVersion": "2"},
        "InstanceType": "ml.t3.medium",
        "KmsKeyId": stack.resolve(key.key_arn),
        "PlatformIdentifier": "notebook-al2023-v1",
        "RoleArn": stack.resolve(made.role.role_arn),
        "RootAccess": "Disabled",
        "SecurityGroupIds": [stack.resolve(made.security_group.security_group_id)],
        "SubnetId": stack.resolve(training.subnets[0].subnet_id),
        "VolumeSizeInGB": 20,
    }
    assert "NotebookInstanceName" not in notebook


def test_it_starts_after_its_permissions(stack: cdk.Stack, training: SageMakerTraining) -> None:
    TrainingNotebook(stack, "Notebook", training=training)
    template = assertions.Template.from_stack(stack)
    (notebook,) = template.find_resources("AWS::SageMaker::NotebookInstance").values()
    policies = template.find_resources("AWS::IAM::Policy")
    assert [id for id in notebook["DependsOn"] if id in policies and id.startswith("NotebookRole")]


def test_it_submits_jobs_and_has_a_role_apart_from_theirs(stack: cdk.Stack, training: SageMakerTraining) -> None:
    made = TrainingNotebook(stack, "Notebook", training=training)
    policies = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    (policy,) = [each for each in policies if each["Roles"] == [stack.resolve(made.role.role_name)]]
    actions = [each["Action"] for each in policy["PolicyDocument"]["Statement"]]
    assert "iam:PassRole" in actions
    flat = {name for each in actions for name in ([each] if isinstance(each, str) else each)}
    assert {"sagemaker:CreateTrainingJob", "sagemaker:StopTrainingJob", "s3:PutObject"} <= flat
    assert not {name for name in flat if "*" in name}
    logs = next(each for each in policy["PolicyDocument"]["Statement"] if "logs:PutLogEvents" in each["Action"])
    assert "/aws/sagemaker/NotebookInstances" in str(logs["Resource"])


def test_nothing_connects_to_it(stack: cdk.Stack, training: SageMakerTraining) -> None:
    made = TrainingNotebook(stack, "Notebook", training=training)
    group = stack.resolve(made.security_group.security_group_id)
    rules = properties(assertions.Template.from_stack(stack), "AWS::EC2::SecurityGroupIngress")
    assert not [each for each in rules if each["GroupId"] == group]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"instance_type": "t3.medium"},
            "'instance_type' is 't3.medium', but that is a type of EC2; give ml.t3.medium",
        ),
        ({"instance_type": "medium"}, "'instance_type' is 'medium'; give a type of SageMaker, such as ml.t3.medium"),
        (
            {"instance_type": "ml.p3dn.24xlarge"},
            "'instance_type' is 'ml.p3dn.24xlarge', but notebook-al2023-v1 does not support ml.p3dn; give another, "
            "such as ml.t3.medium",
        ),
        # EC2's name of a retired type is not answered with a suggestion that would be rejected.
        (
            {"instance_type": RETIRED},
            f"'instance_type' is '{RETIRED}', but notebook-al2023-v1 does not support ml.p3; give another, such as "
            "ml.t3.medium",
        ),
        (
            {"repository": "git@github.com:my-team/training.git"},
            "'repository' is 'git@github.com:my-team/training.git'; give an https URL, or the name of a code "
            "repository of SageMaker",
        ),
        (
            {"repository": "https://me:secret@github.com/my-team/training.git"},
            "'repository' is 'https://…@github.com/…', but the template would show its credentials; create a code "
            "repository of SageMaker, and give its name",
        ),
        ({"volume_gib": 4}, "'volume_gib' is 4; give 5 or more"),
    ],
)
def test_rejects_what_sagemaker_rejects(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        NotebookSpec(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize("repository", [REPOSITORY, "my-repository", cdk.Token.as_string({"Ref": "Code"})])
def test_allows_an_address_and_the_name_of_a_code_repository(repository: str) -> None:
    assert NotebookSpec(instance_type="ml.g5.xlarge", repository=repository, volume_gib=100).repository == repository


def test_rejects_other_types_than_a_training(stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNotebook(stack, "Notebook", training="here", encryption_key="alias/a")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("training",), ("encryption_key",)]
