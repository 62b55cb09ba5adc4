"""Where training jobs of SageMaker run: their role, subnets, security group and the way to the file systems."""

from collections.abc import Sequence
from typing import Any, cast

import jsii
from aws_cdk import Names, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.checks import Subnets, Vpc
from training_cluster.network.endpoints import Services
from training_cluster.network.security_group_rules import allow_all
from training_cluster.network.training_network import private_subnets
from training_cluster.sagemaker.training_role import SageMakerTrainingRole, TrainingRoleProps
from training_cluster.stack_order import order_stacks
from training_cluster.storage.elastic_file_system import Elastic, open_nfs_port
from training_cluster.storage.lustre_file_system import open_lustre_ports
from training_cluster.storage.lustre_volume import Lustre
from training_cluster.suppressions import suppress_wildcard
from training_workloads.keywords import keywords_of
from training_workloads.sagemaker.place import JOB_TAG
from training_workloads.validation import MISSING, Problem, Problems, check

__all__ = ["SageMakerTraining", "sagemaker_services"]

_SERVICE = ec2.InterfaceVpcEndpointAwsService

# Of a training job only the S3 traffic is known to leave through its VPC: SageMaker pulls the image itself
# (https://docs.aws.amazon.com/sagemaker/latest/dg/train-vpc.html, read 2026-11-23), and S3 has a gateway endpoint.
# The others are for services that a program or a notebook calls; AWS's page does not say which way the logs take.
_SERVICES = {
    "EcrApi": _SERVICE.ECR,
    "EcrDocker": _SERVICE.ECR_DOCKER,
    "Logs": _SERVICE.CLOUDWATCH_LOGS,
    "SageMakerApi": _SERVICE.SAGEMAKER_API,
    "Sts": _SERVICE.STS,
}
# `trainctl sagemaker` reads the outputs of the stack.
_NOTEBOOK_SERVICES = {"CloudFormation": _SERVICE.CLOUDFORMATION}

_DESCRIPTION = "SageMaker: all traffic between the hosts of training jobs"

_OWN_JOBS = ("sagemaker:DescribeTrainingJob", "sagemaker:StopTrainingJob")
_READ_LOGS = ("logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents")


def sagemaker_services(*, notebook: bool = False) -> Services:
    """Return the services that jobs, and a notebook that submits them, reach through endpoints in a VPC without NAT."""
    return _SERVICES | (_NOTEBOOK_SERVICES if notebook else {})


class SageMakerTrainingProps(TrainingRoleProps):
    """The keywords of `SageMakerTraining`.

    Attributes:
        vpc: The VPC, with a way to S3 from its private subnets.
        subnets: Private subnets; a job runs in one of them. With Lustre, give the one of its zone: EFA does not cross
            zones, and Lustre traffic between them costs money. Default: all private subnets of the VPC.
        lustre: A Lustre file system that jobs mount. Default: none.
        elastic_file_system: An Elastic File System that jobs mount. Default: none.
    """

    vpc: Vpc
    subnets: Subnets | None = None
    lustre: Lustre | None = None
    elastic_file_system: Elastic | None = None


@jsii.implements(iam.IGrantable, ec2.IConnectable)
class SageMakerTraining(Construct):
    """The role, subnets and security group that a request for a training job names, with the file systems open to it.

    It is a grantee, as its role is: `other_bucket.grant_read(training)`; and it has `connections`.

    Attributes:
        vpc: The VPC.
        subnets: The subnets of the jobs.
        bucket: The bucket of data sets and results.
        repository: The repository of the training images.
        role: The execution role.
        security_group: The group of the hosts, with all traffic from and to itself, which MPI, NCCL and EFA need.
        job_tag: Value of the tag `training-cluster:jobs-of`, which the jobs of `grant_submit` have.
    """

    @keywords_of(SageMakerTrainingProps)
    def __init__(self, scope: Construct, id: str, props: SageMakerTrainingProps) -> None:
        """Define role, group and rules.

        Raises:
            InputError: An argument is of another type, a prefix is no folder, the VPC has no private subnet, or a stack
                would wait for itself.
        """
        vpc, lustre, elastic_file_system = props.vpc, props.lustre, props.elastic_file_system
        self.subnets = private_subnets(vpc) if props.subnets is None else list(props.subnets)
        check(_at_least_one(self.subnets))
        order_stacks(scope, id, vpc=vpc, lustre=lustre, elastic_file_system=elastic_file_system)
        super().__init__(scope, id)
        self.vpc, self.bucket, self.repository = vpc, props.bucket, props.repository
        self.job_tag = Names.unique_id(self)
        self.role = SageMakerTrainingRole(self, "Role", **props.given(TrainingRoleProps))
        self.security_group = ec2.SecurityGroup(self, "SecurityGroup", vpc=vpc, description=_DESCRIPTION)
        group = cast(ec2.ISecurityGroup, self.security_group)
        # "For EFA-enabled instances, ensure that both inbound and outbound connections allow all traffic from the same
        # security group": https://docs.aws.amazon.com/sagemaker/latest/dg/train-vpc.html (read 2026-11-23)
        allow_all(self, "FromItself", "ToItself", group=group, peer=group, description=_DESCRIPTION)
        if lustre is not None:
            open_lustre_ports(Construct(self, "LustrePorts"), lustre, group)
        if elastic_file_system is not None:
            open_nfs_port(Construct(self, "NfsPorts"), elastic_file_system.connections, group)

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The execution role."""
        return self.role

    @property
    def connections(self) -> ec2.Connections:
        """The security group of the hosts."""
        return self.security_group.connections

    def grant_submit(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow the actions of `trainctl sagemaker`: the outputs, the image's digest, jobs and their logs.

        Jobs are started in this network and with this tag alone, and only those with it are shown and stopped.
        """
        stack = Stack.of(self)
        jobs = stack.format_arn(service="sagemaker", resource="training-job", resource_name="*")
        group = stack.format_arn(service="logs", resource="log-group:/aws/sagemaker/TrainingJobs")
        this_stack = stack.format_arn(service="cloudformation", resource="stack", resource_name=f"{stack.stack_name}/*")
        role = grantee.grant_principal
        if isinstance(role, iam.Role):
            reason = "training jobs and their logs, which are named at submission, and this stack, which has an id"
            suppress_wildcard(role, reason, jobs, f"{group}:*", this_stack)
        only_sagemaker = {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
        return (
            _grant(grantee, ("sagemaker:CreateTrainingJob",), jobs, conditions=self._here())
            .combine(_grant(grantee, ("sagemaker:AddTags",), jobs, conditions=self._tagging()))
            .combine(_grant(grantee, _OWN_JOBS, jobs, conditions=_equals(f"aws:ResourceTag/{JOB_TAG}", self.job_tag)))
            .combine(_grant(grantee, ("iam:PassRole",), self.role.role_arn, conditions=only_sagemaker))
            .combine(_grant(grantee, _READ_LOGS, group, f"{group}:*"))
            .combine(_grant(grantee, ("ecr:DescribeImages",), self.repository.repository_arn))
            .combine(_grant(grantee, ("cloudformation:DescribeStacks",), this_stack))
        )

    def _here(self) -> dict[str, Any]:
        """Return the conditions of a job that is in this network and has this tag.

        `ForAllValues` accepts a request without the key, which `Null` rejects.
        https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsagemaker.html
        """
        allowed = {
            "sagemaker:VpcSubnets": [subnet.subnet_id for subnet in self.subnets],
            "sagemaker:VpcSecurityGroupIds": [self.security_group.security_group_id],
        }
        given = {"ForAllValues:StringEquals": allowed, "Null": dict.fromkeys(allowed, "false")}
        return given | _equals(f"aws:RequestTag/{JOB_TAG}", self.job_tag)

    def _tagging(self) -> dict[str, Any]:
        """Return the conditions of this tag on a new job: without the first the job of another could be taken over."""
        tagging = {"sagemaker:TaggingAction": "CreateTrainingJob", f"aws:RequestTag/{JOB_TAG}": self.job_tag}
        return {"StringEquals": tagging}


def _equals(key: str, value: str) -> dict[str, Any]:
    return {"StringEquals": {key: value}}


def _grant(grantee: iam.IGrantable, actions: Sequence[str], *resources: str, conditions: Any = None) -> iam.Grant:
    return iam.Grant.add_to_principal(
        grantee=grantee, actions=list(actions), resource_arns=list(resources), conditions=conditions
    )


def _at_least_one(subnets: Sequence[ec2.ISubnet]) -> Problems:
    if not subnets:
        fix = "give the private subnets of the jobs"
        yield Problem(path=("subnets",), given=MISSING, allowed="the VPC has no private subnet", fix=fix)
