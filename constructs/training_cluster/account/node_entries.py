"""The access entries that EKS made for the node roles of a stack, in a cluster that the stack does not own."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import NODE_GROUP, DeployedStack
from training_workloads.aws.errors import RequestError

__all__ = ["NodeEntry", "delete_entry", "node_entries"]

_ROLE = "AWS::IAM::Role"
_NODES = "EC2_LINUX"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEntry:
    """The access entry of a node role.

    EKS makes it with the first node group of the role, and leaves it when the node group is deleted
    (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329). A stack cannot own it: EKS has made it
    before, in each cluster that is deployed (https://github.com/aws/containers-roadmap/issues/2425).

    Attributes:
        cluster: EKS's name of the cluster.
        role: ARN of the role.
    """

    cluster: str
    role: str

    @property
    def command(self) -> str:
        """The command that deletes it."""
        return f"aws eks delete-access-entry --cluster-name {self.cluster} --principal-arn {self.role}"


def node_entries(account: Account, stack: DeployedStack) -> Iterator[NodeEntry]:
    """Yield the entries of the stack's node roles in clusters of others; none where they cannot be read."""
    ids = (*stack.ids(NODE_GROUP), *stack.deleted_ids(NODE_GROUP))
    roles = (*stack.ids(_ROLE), *stack.deleted_ids(_ROLE))
    # The id of a node group is `cluster/name`.
    for cluster in sorted({id.rpartition("/")[0] for id in ids} - {"", stack.cluster_name}):
        with suppress(RequestError):
            for arn in account.all("eks", "list_access_entries", "accessEntries", clusterName=cluster):
                if arn.rpartition("/")[2] in roles and _is_of_nodes(account, cluster, arn):
                    yield NodeEntry(cluster=cluster, role=arn)


def _is_of_nodes(account: Account, cluster: str, arn: str) -> bool:
    found = account.ask("eks", "describe_access_entry", clusterName=cluster, principalArn=arn)["accessEntry"]
    return bool(found.get("type") == _NODES)


def delete_entry(account: Account, entry: NodeEntry) -> str:
    """Delete an entry, whose role is deleted; return the line about it."""
    try:
        account.find(
            "eks",
            "delete_access_entry",
            "ResourceNotFoundException",
            clusterName=entry.cluster,
            principalArn=entry.role,
        )
    except RequestError as error:
        return f"the access entry of {entry.role} is still in {entry.cluster} ({error}): run '{entry.command}'"
    return f"removed the access entry of {entry.role} from {entry.cluster}"
