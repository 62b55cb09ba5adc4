import json
import subprocess
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam

from tests.constructs.site import properties
from training_cluster import ImageBuild, ImageRepository, TrainingKey
from training_workloads.validation import InputError


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Stack")


def define(stack: cdk.Stack, **more: Any) -> ImageBuild:
    repository = ImageRepository(stack, "Images")
    return ImageBuild(stack, "Build", repository=repository, **more)


def actions(policy: dict[str, Any]) -> set[str]:
    found = [each["Action"] for each in policy["PolicyDocument"]["Statement"]]
    return {name for each in found for name in ([each] if isinstance(each, str) else each)}


def test_it_builds_the_uploaded_folder_and_pushes_the_image(stack: cdk.Stack) -> None:
    assert isinstance(define(stack), codebuild.Project)
    (project,) = properties(assertions.Template.from_stack(stack), "AWS::CodeBuild::Project")
    assert project["Source"]["Type"] == "S3"
    assert json.dumps(project["Source"]["Location"]).endswith('"/source.zip"]]}')
    phases = json.loads(project["Source"]["BuildSpec"])["phases"]
    assert phases["pre_build"]["commands"][0].startswith("aws ecr get-login-password | docker login")
    assert 'docker push "$REPOSITORY:$TAG"' in phases["build"]["commands"][0]
    assert project["Environment"]["PrivilegedMode"] is True
    names = {each["Name"] for each in project["Environment"]["EnvironmentVariables"]}
    assert names == {"REPOSITORY", "DOCKERFILE", "BUILD_ARGUMENTS", "TAG"}
    assert (project["TimeoutInMinutes"], project["ConcurrentBuildLimit"]) == (120, 1)


def test_a_build_decrypts_through_s3_alone(stack: cdk.Stack) -> None:
    define(stack, encryption_key=TrainingKey(stack, "Key"))
    policies = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    (decrypt,) = [
        each
        for policy in policies
        for each in policy["PolicyDocument"]["Statement"]
        if "kms:" in str(each["Action"]) and "BuildRole" in str(policy["Roles"])
    ]
    via = {"Fn::Join": ["", ["s3.", {"Ref": "AWS::Region"}, ".", {"Ref": "AWS::URLSuffix"}]]}
    assert (decrypt["Action"], decrypt["Condition"]) == ("kms:Decrypt", {"StringEquals": {"kms:ViaService": via}})


def test_uploads_are_in_a_separate_bucket_for_a_day(stack: cdk.Stack) -> None:
    """A file system that mirrors the bucket of the data would show them to every job."""
    build = define(stack, encryption_key=TrainingKey(stack, "Key"))
    (bucket,) = properties(assertions.Template.from_stack(stack), "AWS::S3::Bucket")
    (project,) = properties(assertions.Template.from_stack(stack), "AWS::CodeBuild::Project")
    assert stack.resolve(build.sources.bucket_name) in project["Source"]["Location"]["Fn::Join"][1]
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]
    assert (rule["ExpirationInDays"], rule["NoncurrentVersionExpiration"]["NoncurrentDays"]) == (1, 1)
    # CodeBuild reads the version that it is given.
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["PublicAccessBlockConfiguration"]["BlockPublicPolicy"] is True
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"


def test_a_build_argument_with_a_blank_is_one_argument(stack: cdk.Stack) -> None:
    define(stack)
    (project,) = properties(assertions.Template.from_stack(stack), "AWS::CodeBuild::Project")
    (script,) = json.loads(project["Source"]["BuildSpec"])["phases"]["build"]["commands"]
    docker = "docker() { printf '[%s]' \"$@\"; echo; }\n"
    variables = {"REPOSITORY": "r", "TAG": "t", "DOCKERFILE": "Dockerfile", "BUILD_ARGUMENTS": "A=1 2\nB=$(id)"}
    done = subprocess.run(["bash", "-c", docker + script], env=variables, capture_output=True, text=True, check=True)
    built, pushed = done.stdout.splitlines()
    assert built == "[build][--file][Dockerfile][--build-arg][A=1 2][--build-arg][B=$(id)][--tag][r:t][.]"
    assert pushed == "[push][r:t]"
    done = subprocess.run(
        ["bash", "-c", docker + script],
        env=variables | {"BUILD_ARGUMENTS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0] == "[build][--file][Dockerfile][--tag][r:t][.]"


def test_a_build_may_read_its_folder_and_use_its_repository_only(stack: cdk.Stack) -> None:
    define(stack)
    (policy,) = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    assert actions(policy) == {
        "s3:GetObject",
        "s3:GetObjectVersion",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:CompleteLayerUpload",
        "ecr:GetAuthorizationToken",
        "ecr:GetDownloadUrlForLayer",
        "ecr:InitiateLayerUpload",
        "ecr:PutImage",
        "ecr:UploadLayerPart",
    }
    everywhere = [each["Action"] for each in policy["PolicyDocument"]["Statement"] if each["Resource"] == "*"]
    assert everywhere == ["ecr:GetAuthorizationToken"]


def test_a_key_encrypts_the_log(stack: cdk.Stack) -> None:
    key = TrainingKey(stack, "Key")
    define(stack, encryption_key=key)
    (group,) = properties(assertions.Template.from_stack(stack), "AWS::Logs::LogGroup")
    assert (group["KmsKeyId"], group["RetentionInDays"]) == (stack.resolve(key.key_arn), 90)


def test_a_role_may_start_builds_and_follow_them(stack: cdk.Stack) -> None:
    role = iam.Role(stack, "Role", assumed_by=iam.AccountRootPrincipal())
    define(stack).grant_start(role)
    policies = assertions.Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    (policy,) = [each["Properties"] for name, each in policies.items() if name.startswith("Role")]
    wanted = {"codebuild:StartBuild", "codebuild:BatchGetBuilds", "s3:PutObject", "logs:GetLogEvents"}
    assert wanted <= actions(policy)
    starts = [each for each in policy["PolicyDocument"]["Statement"] if "codebuild:StartBuild" in each["Action"]]
    assert [each["Resource"] for each in starts] != ["*"]


def test_rejects_other_types_than_a_repository(stack: cdk.Stack) -> None:
    with pytest.raises(InputError, match="'repository' is 'images'; give a repository, such as an ImageRepository"):
        ImageBuild(stack, "Build", repository="images")  # type: ignore[arg-type]
