"""The CodeBuild project that builds a training image where no machine of the user can."""

from typing import Any, Final

from aws_cdk import Duration
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import Key, Repository
from training_cluster.identity.folder_access import allow_key_through_s3
from training_cluster.log_group import log_group
from training_cluster.storage.training_bucket import PRIVATE_AND_KEPT, retain_policy
from training_cluster.suppressions import suppress, suppress_wildcard
from training_workloads.keywords import checked

__all__ = ["ImageBuild"]

_SOURCE: Final = "source.zip"

# A build reads its upload at its start.
_UPLOADS_KEPT = Duration.days(1)

# Horovod takes 10 minutes on 2 cores, and a base with CUDA has about 10 GB.
_COMPUTER = codebuild.ComputeType.LARGE
_LIMIT = Duration.hours(2)

# `trainctl image build` sets the variables. A build argument is a line, so that its value may have blanks.
_PUSH = """\
set -euo pipefail
arguments=()
while IFS= read -r line; do [ -z "$line" ] || arguments+=(--build-arg "$line"); done <<< "$BUILD_ARGUMENTS"
docker build --file "$DOCKERFILE" "${arguments[@]}" --tag "$REPOSITORY:$TAG" .
docker push "$REPOSITORY:$TAG"
"""
_LOGIN = 'aws ecr get-login-password | docker login --username AWS --password-stdin "${REPOSITORY%%/*}"'


class ImageBuild(codebuild.Project):
    """A CodeBuild project that builds a Dockerfile and pushes the image; `trainctl image build` starts it.

    Nothing starts it by itself, and it costs nothing while it does not run.

    Attributes:
        sources: The bucket of the uploaded folders, beside it in the tree with the id `<id>Sources`. An upload lives a
            day. No file system mirrors it: every job can read the files of one.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        repository: Repository,
        encryption_key: Key | None = None,
    ) -> None:
        """Define the project.

        Args:
            repository: Where it pushes images.
            encryption_key: Key of the uploads, the logs and the build's files. Default: keys of S3 and CloudWatch.

        Raises:
            InputError: An argument is of another type.
        """
        self.sources = _sources(scope, f"{id}Sources", encryption_key)
        self._logs = log_group(scope, f"{id}Logs", key=encryption_key)
        super().__init__(
            scope,
            id,
            source=codebuild.Source.s3(bucket=self.sources, path=_SOURCE),
            build_spec=codebuild.BuildSpec.from_object(_build_spec()),
            environment=_environment(repository),
            encryption_key=encryption_key,
            # CDK would add permissions that other projects need: reports, other log groups, the whole bucket's list.
            role=self._role(scope, f"{id}Role", repository).without_policy_updates(),
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=self._logs)),
            timeout=_LIMIT,
            # A second build of the same image waits.
            concurrent_build_limit=1,
        )
        why = "Docker builds images in privileged mode only; the computer is the build's, and ends with it"
        suppress(self, why, "AwsSolutions-CB3", "CKV_AWS_316")

    def grant_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow the actions of `trainctl image build --with codebuild`: upload, start, follow the log.

        A build may be started with other commands: the grantee can do what the role of the build can, which is to read
        the uploaded folder, to write its log and to push images.
        """
        self.sources.grant_put(grantee, _SOURCE)
        self._logs.grant_read(grantee)
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["codebuild:BatchGetBuilds", "codebuild:StartBuild", "codebuild:StopBuild"],
            resource_arns=[self.project_arn],
        )

    def _role(self, scope: Construct, id: str, repository: ecr.IRepository) -> iam.Role:
        """Define the role of a build: read the folder, write its log, push the image."""
        role = iam.Role(scope, id, assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
        source = iam.PolicyStatement(
            actions=["s3:GetObject", "s3:GetObjectVersion"], resources=[self.sources.arn_for_objects(_SOURCE)]
        )
        role.add_to_policy(source)
        allow_key_through_s3(role, self.sources.encryption_key, write=False)
        self._logs.grant_write(role)
        # A Dockerfile may start from an image of the repository.
        repository.grant_pull_push(role)
        suppress_wildcard(role, "ECR's token has no resource: ecr:GetAuthorizationToken", "*")
        return role


def _sources(scope: Construct, id: str, key: kms.IKey | None) -> s3.Bucket:
    bucket = s3.Bucket(
        scope,
        id,
        **PRIVATE_AND_KEPT,
        encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
        encryption_key=key,
        lifecycle_rules=[
            s3.LifecycleRule(
                expiration=_UPLOADS_KEPT,
                noncurrent_version_expiration=_UPLOADS_KEPT,
                abort_incomplete_multipart_upload_after=_UPLOADS_KEPT,
            )
        ],
    )
    retain_policy(bucket)
    suppress(bucket, "an upload lives a day, and the log of its build names it", "AwsSolutions-S1", "CKV_AWS_18")
    return bucket


def _build_spec() -> dict[str, Any]:
    return {
        "version": "0.2",
        "env": {"shell": "bash"},
        "phases": {"pre_build": {"commands": [_LOGIN]}, "build": {"commands": [_PUSH]}},
    }


def _environment(repository: ecr.IRepository) -> codebuild.BuildEnvironment:
    given = {
        "REPOSITORY": repository.repository_uri,
        "DOCKERFILE": "Dockerfile",
        "BUILD_ARGUMENTS": "",
        "TAG": "latest",
    }
    return codebuild.BuildEnvironment(
        build_image=codebuild.LinuxBuildImage.STANDARD_7_0,
        compute_type=_COMPUTER,
        privileged=True,
        environment_variables={name: codebuild.BuildEnvironmentVariable(value=value) for name, value in given.items()},
    )
