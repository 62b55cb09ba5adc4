"""A stack as CloudFormation has it: its state, its outputs, its resources, and the nodes of its cluster."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from training_cluster.account.account_requests import Account
from training_workloads.aws.errors import RejectionError
from training_workloads.catalog.nodes import NODE_GROUP_LABEL

__all__ = [
    "CLUSTER",
    "FILE_SYSTEM",
    "NODE_GROUP",
    "STUCK",
    "SUBNET",
    "VPC",
    "DeployedStack",
    "NodeKind",
    "StackResource",
    "find_stack",
    "kubernetes_release",
    "running_nodes",
]

#: Types of resources.
CLUSTER = "AWS::EKS::Cluster"
FILE_SYSTEM = "AWS::FSx::FileSystem"
NODE_GROUP = "AWS::EKS::Nodegroup"
SUBNET = "AWS::EC2::Subnet"
VPC = "AWS::EC2::VPC"

#: States in which CloudFormation rejects an update, with the way out. A stack in ROLLBACK_COMPLETE, after a failed
#: first deployment, is created anew by the CDK.
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-continueupdaterollback.html
#: (read 2026-11-23)
STUCK = {
    "UPDATE_ROLLBACK_FAILED": "continue the rollback ('aws cloudformation continue-update-rollback'): docs/upgrade.md",
    "DELETE_FAILED": "'trainctl cluster destroy' again",
    "ROLLBACK_FAILED": "'trainctl cluster destroy': a first deployment failed, and then its rollback",
}

# A change set of a first deployment that was not executed: the stack has no resources yet.
_NOT_CREATED = "REVIEW_IN_PROGRESS"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeKind:
    """The kind of a running node.

    Attributes:
        group: Its node group, as the configuration names it; empty without the tag.
        instance_type: EC2's name of its type.
        spot: Whether it is a Spot instance.
    """

    group: str
    instance_type: str
    spot: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StackResource:
    """A resource of a stack.

    Attributes:
        logical_id: Its name in the template.
        kind: Its type.
        id: Its physical id.
    """

    logical_id: str
    kind: str
    id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DeployedStack:
    """A stack of the account.

    Attributes:
        name: Its name.
        arn: Its id, by which it can be found after its deletion too.
        status: CloudFormation's word for its state.
        outputs: Its outputs by name.
        resources: Its resources, without those that are deleted.
        deleted: Those that a deletion which failed has deleted.
        is_protected: Whether CloudFormation rejects its deletion.
    """

    name: str
    arn: str
    status: str
    outputs: Mapping[str, str]
    resources: tuple[StackResource, ...]
    deleted: tuple[StackResource, ...] = ()
    is_protected: bool = False

    def ids(self, kind: str) -> tuple[str, ...]:
        """Return the physical ids of its resources of a type."""
        return tuple(each.id for each in self.resources if each.kind == kind)

    def deleted_ids(self, kind: str) -> tuple[str, ...]:
        """Return the physical ids of its deleted resources of a type."""
        return tuple(each.id for each in self.deleted if each.kind == kind)

    @property
    def cluster_name(self) -> str | None:
        """EKS's name of its cluster."""
        return next(iter(self.ids(CLUSTER)), None)


def find_stack(account: Account, name: str) -> DeployedStack | None:
    """Return a stack; None if the account has none of this name in its region."""
    try:
        (found,) = account.ask("cloudformation", "describe_stacks", StackName=name)["Stacks"]
    except RejectionError as error:
        if "does not exist" not in str(error):
            raise
        return None
    if found["StackStatus"] == _NOT_CREATED:
        return None
    resources, deleted = _resources(account, name)
    return DeployedStack(
        name=found["StackName"],
        arn=found.get("StackId", name),
        status=found["StackStatus"],
        outputs={each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())},
        resources=resources,
        deleted=deleted,
        is_protected=found.get("EnableTerminationProtection", False),
    )


def _resources(account: Account, name: str) -> tuple[tuple[StackResource, ...], tuple[StackResource, ...]]:
    """Return the resources that exist, and those that are deleted."""
    found: dict[bool, list[StackResource]] = {True: [], False: []}
    for each in account.all("cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=name):
        if id := each.get("PhysicalResourceId"):
            resource = StackResource(logical_id=each["LogicalResourceId"], kind=each["ResourceType"], id=id)
            found[each["ResourceStatus"] != "DELETE_COMPLETE"].append(resource)
    return tuple(found[True]), tuple(found[False])


def kubernetes_release(account: Account, stack: DeployedStack) -> str | None:
    """Return the Kubernetes release of a stack's cluster, such as 1.35; None without one."""
    if stack.cluster_name is None:
        return None
    return str(account.ask("eks", "describe_cluster", name=stack.cluster_name)["cluster"]["version"])


def running_nodes(account: Account, stack: DeployedStack) -> Counter[NodeKind]:
    """Return how many nodes of each kind a stack's cluster has."""
    if stack.cluster_name is None:
        return Counter()
    # EKS's tag on the instances of a managed node group (docs.aws.amazon.com/eks/latest/userguide/
    # managed-node-groups.html). Its tag eks:nodegroup-name has the name that CloudFormation generated; the tag of the
    # launch template has the one of the configuration.
    filters = [
        {"Name": "tag:eks:cluster-name", "Values": [stack.cluster_name]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    found = account.all("ec2", "describe_instances", "Reservations", Filters=filters)
    return Counter(_kind(each) for reservation in found for each in reservation["Instances"])


def _kind(instance: Mapping[str, Any]) -> NodeKind:
    tags = {each["Key"]: each["Value"] for each in instance.get("Tags", ())}
    spot = instance.get("InstanceLifecycle") == "spot"
    return NodeKind(group=tags.get(NODE_GROUP_LABEL, ""), instance_type=instance["InstanceType"], spot=spot)
