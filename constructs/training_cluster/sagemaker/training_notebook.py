"""A notebook instance beside the training jobs: it clones a repository and submits jobs."""

import re
from typing import Annotated, Any

import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct
from pydantic import Field

from training_cluster.checks import Key, KnownChecked, has
from training_cluster.sagemaker.sagemaker_training import SageMakerTraining
from training_cluster.sagemaker.training_role import allow_logs, allow_network_interfaces, sagemaker_principal
from training_cluster.suppressions import suppress
from training_workloads.catalog.versions import NOTEBOOK_INSTANCE_TYPE, NOTEBOOK_PLATFORM
from training_workloads.keywords import keywords_of
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, at_least

__all__ = ["NotebookSpec", "TrainingNotebook"]

#: For a clone and a few packages.
NOTEBOOK_VOLUME_GIB = 20

# https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateNotebookInstance.html (read 2026-11-23)
_SMALLEST_VOLUME, _LARGEST_VOLUME = 5, 16384
_CODE_REPOSITORY = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_TYPE = re.compile(r"(?P<ml>ml\.)?(?P<family>[a-z][a-z0-9-]*)\.[a-z0-9-]+")

# "AL2023 does not support": https://docs.aws.amazon.com/sagemaker/latest/dg/nbi-al2023.html (read 2026-11-23)
_NOT_ON_THE_PLATFORM = {"p2", "p3", "p3dn", "inf1", "g3"}


def _notebook_type(name: str, value: Any) -> Problems:
    """Reject EC2's names, other text than a type, and the families that the platform does not support."""
    found = _TYPE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        yield Problem(path=(name,), given=value, fix=f"give a type of SageMaker, such as {NOTEBOOK_INSTANCE_TYPE}")
    elif found["family"] in _NOT_ON_THE_PLATFORM:
        allowed = f"{NOTEBOOK_PLATFORM} does not support ml.{found['family']}"
        yield Problem(path=(name,), given=value, allowed=allowed, fix=f"give another, such as {NOTEBOOK_INSTANCE_TYPE}")
    elif not found["ml"]:
        yield Problem(path=(name,), given=value, allowed="that is a type of EC2", fix=f"give ml.{value}")


def _code(name: str, value: Any) -> Problems:
    """Reject addresses that SageMaker cannot clone, and credentials, which the template would show."""
    text = value if isinstance(value, str) else ""
    host = text.removeprefix("https://").partition("/")[0]
    if text.startswith("https://") and "@" in host:
        allowed, fix = (
            "the template would show its credentials",
            "create a code repository of SageMaker, and give its name",
        )
        yield Problem(path=(name,), given=f"https://…@{host.rpartition('@')[2]}/…", allowed=allowed, fix=fix)
    elif not (text.startswith("https://") and host) and not _CODE_REPOSITORY.fullmatch(text):
        fix = "give an https URL, or the name of a code repository of SageMaker"
        yield Problem(path=(name,), given=value, fix=fix)


class NotebookSpec(Spec):
    """A notebook instance, which can submit jobs.

    Attributes:
        instance_type: SageMaker's type, such as ml.g5.xlarge. The default is a small one without a GPU.
        repository: Git repository that is cloned, and opened: an https URL that the subnet reaches, or the name of a
            code repository of SageMaker, which can have credentials. Default: none.
        volume_gib: Size of its volume in GiB.
    """

    instance_type: Annotated[str, KnownChecked(_notebook_type)] = NOTEBOOK_INSTANCE_TYPE
    repository: Annotated[str, KnownChecked(_code)] | None = Field(
        default=None, examples=["https://github.com/my-team/training.git"]
    )
    volume_gib: Annotated[int, KnownChecked(at_least, _SMALLEST_VOLUME, _LARGEST_VOLUME)] = NOTEBOOK_VOLUME_GIB


class NotebookProps(NotebookSpec):
    """The keywords of `TrainingNotebook`.

    Attributes:
        training: Where the jobs run that it submits; it is in the first of their subnets.
        encryption_key: Key of its volume. Default: a key of SageMaker.
    """

    training: Annotated[SageMakerTraining, Checked(has, "grant_submit", "give a SageMakerTraining")]
    encryption_key: Key | None = None


@jsii.implements(iam.IGrantable, ec2.IConnectable)
class TrainingNotebook(Construct):
    """A notebook instance in a private subnet: no internet of SageMaker's, no root, an encrypted volume, IMDSv2.

    Who opens it is decided by `sagemaker:CreatePresignedNotebookInstanceUrl` in the user's policies. Its files are lost
    when it is deleted: push them, or copy them to the bucket.

    Attributes:
        role: Its role: it submits jobs, reads the data sets, and reads and writes the results.
        security_group: Its group, which admits no connection.
        notebook_instance: The notebook instance.
    """

    @keywords_of(NotebookProps)
    def __init__(self, scope: Construct, id: str, props: NotebookProps) -> None:
        """Define the notebook instance.

        Raises:
            InputError: An argument is of another type, or SageMaker does not allow a value.
        """
        training, encryption_key = props.training, props.encryption_key
        super().__init__(scope, id)
        description = "SageMaker notebook instance"
        self.security_group = ec2.SecurityGroup(self, "SecurityGroup", vpc=training.vpc, description=description)
        self.role = _role(self, training)
        metadata = sagemaker.CfnNotebookInstance.InstanceMetadataServiceConfigurationProperty
        self.notebook_instance = sagemaker.CfnNotebookInstance(
            self,
            "Resource",
            instance_type=props.instance_type,
            role_arn=self.role.role_arn,
            subnet_id=training.subnets[0].subnet_id,
            security_group_ids=[self.security_group.security_group_id],
            direct_internet_access="Disabled",
            root_access="Disabled",
            platform_identifier=NOTEBOOK_PLATFORM,
            default_code_repository=props.repository,
            volume_size_in_gb=props.volume_gib,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
            instance_metadata_service_configuration=metadata(minimum_instance_metadata_service_version="2"),
        )
        # The instance uses its role when it starts.
        self.notebook_instance.node.add_dependency(self.role.node.find_child("DefaultPolicy"))
        if encryption_key is None:
            why = "encrypted with SageMaker's key, as no key was given"
            suppress(self.notebook_instance, why, "AwsSolutions-SM2", "CKV_AWS_187")

    @property
    def notebook_instance_name(self) -> str:
        """Its name, a token."""
        return self.notebook_instance.attr_notebook_instance_name

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """Its role."""
        return self.role

    @property
    def connections(self) -> ec2.Connections:
        """Its security group."""
        return self.security_group.connections


def _role(notebook: Construct, training: SageMakerTraining) -> iam.Role:
    role = iam.Role(notebook, "Role", assumed_by=sagemaker_principal())
    training.grant_submit(role)
    training.role.allow_objects(role)
    allow_logs(role, "NotebookInstances")
    # The page on roles names them for jobs in a VPC; whether a notebook in one needs them, it does not say.
    allow_network_interfaces(role)
    return role
