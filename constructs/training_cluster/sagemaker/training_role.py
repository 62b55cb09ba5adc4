"""Permissions of training jobs on SageMaker: read the data set, write the results, pull the image."""

from aws_cdk import Aws, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.checks import Bucket, Key, Repository
from training_cluster.identity.folder_access import Folder, allow_folder, allow_key_through_s3
from training_cluster.stack_order import order_stacks
from training_cluster.suppressions import suppress, suppress_wildcard
from training_workloads.keywords import keywords_of
from training_workloads.spec import Spec

__all__ = [
    "DATA_PREFIX",
    "RESULTS_PREFIX",
    "SageMakerTrainingRole",
    "TrainingRoleProps",
    "allow_logs",
    "allow_network_interfaces",
    "sagemaker_principal",
]

#: The folders of the bucket that a cluster's jobs use too.
DATA_PREFIX = "data"
RESULTS_PREFIX = "runs"

# In the order of https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html#sagemaker-roles-createtrainingjob-perms
_NETWORK_INTERFACES = (
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeVpcs",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeSubnets",
    "ec2:DescribeSecurityGroups",
)
_LOGS = ("logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents")


class TrainingRoleProps(Spec):
    """The keywords of `SageMakerTrainingRole`.

    Attributes:
        bucket: The bucket of data sets and results.
        repository: The repository of the training images.
        data_prefix: Folder of the bucket that jobs read; `/` for the whole bucket.
        results_prefix: Folder of the bucket that jobs read and write; `trainctl sagemaker` writes below `runs`.
        encryption_key: Key of the bucket. Default: the bucket's own, if the bucket knows it.
    """

    bucket: Bucket
    repository: Repository
    data_prefix: Folder = DATA_PREFIX
    results_prefix: Folder = RESULTS_PREFIX
    encryption_key: Key | None = None


class SageMakerTrainingRole(iam.Role):
    """The execution role of training jobs, with the permissions that SageMaker documents, scoped where it allows it.

    https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html#sagemaker-roles-createtrainingjob-perms (read
    2026-11-23). It is a grantee: `other_bucket.grant_read(role)` adds to its permissions.
    """

    @keywords_of(TrainingRoleProps)
    def __init__(self, scope: Construct, id: str, props: TrainingRoleProps) -> None:
        """Define the role.

        Raises:
            InputError: An argument is of another type, a prefix is no folder, or a stack would wait for itself.
        """
        bucket, repository, encryption_key = props.bucket, props.repository, props.encryption_key
        order_stacks(scope, id, bucket=bucket, repository=repository, encryption_key=encryption_key)
        super().__init__(scope, id, assumed_by=sagemaker_principal())
        self._bucket, self._key = bucket, encryption_key or bucket.encryption_key
        self._data_prefix, self._results_prefix = props.data_prefix, props.results_prefix
        # Files that a job deletes below /opt/ml/checkpoints, such as an old checkpoint, SageMaker deletes in S3 too
        # (https://docs.aws.amazon.com/sagemaker/latest/dg/model-checkpoints.html, read 2026-11-23).
        self.allow_objects(self, delete=True)
        repository.grant_pull(self)
        allow_logs(self, "TrainingJobs")
        self.add_to_policy(iam.PolicyStatement(actions=["cloudwatch:PutMetricData"], resources=["*"]))
        allow_network_interfaces(self)

    def allow_objects(self, role: iam.Role, *, delete: bool = False) -> None:
        """Allow a role the same objects: to read the data sets, and to read, write or delete the results."""
        # SageMaker lists a channel as the job names it.
        allow_folder(role, role, self._bucket, self._data_prefix, write=False, without_slash=True)
        allow_folder(role, role, self._bucket, self._results_prefix, delete=delete, without_slash=True)
        # SageMaker asks for kms:Encrypt where the output of a job names the key.
        allow_key_through_s3(role, self._key, "kms:Encrypt")


def sagemaker_principal() -> iam.IPrincipal:
    """Return SageMaker, as long as it works for this account.

    https://docs.aws.amazon.com/sagemaker/latest/dg/security-confused-deputy-prevention.html (read 2026-11-23)
    """
    account = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
    return iam.ServicePrincipal("sagemaker.amazonaws.com", conditions=account)


def allow_logs(role: iam.Role, kind: str) -> None:
    """Allow a role to write the logs of its jobs.

    SageMaker creates the group with the first log of the account: ADR 0025 says why no stack owns it. Its kind, such as
    TrainingJobs, ends the group's name.
    """
    group = Stack.of(role).format_arn(service="logs", resource=f"log-group:/aws/sagemaker/{kind}")
    streams = f"{group}:*"
    role.add_to_policy(iam.PolicyStatement(actions=[*_LOGS], resources=[group, streams]))
    suppress_wildcard(role, "the streams of the log group, which SageMaker names after the job and its hosts", streams)


def allow_network_interfaces(role: iam.Role) -> None:
    """Allow a role the actions that SageMaker needs in a VPC.

    "Don't scope in the policy with any conditions or resource filters", as the validation of a job fails otherwise:
    https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html (read 2026-11-23, on processing jobs).
    """
    role.add_to_policy(iam.PolicyStatement(actions=[*_NETWORK_INTERFACES], resources=["*"]))
    reason = "SageMaker's validation of a job in a VPC allows no filter; ECR's token and CloudWatch's metrics have none"
    suppress_wildcard(role, reason, "*")
    suppress(role.node.find_child("DefaultPolicy"), reason, "CKV_AWS_109", "CKV_AWS_111")
