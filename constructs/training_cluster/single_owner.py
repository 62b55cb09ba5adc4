"""Reject a second plugin, operator, autoscaler, monitoring, namespace or volume of a cluster where it is defined."""

from aws_cdk import Stack
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.stack_order import order_stacks
from training_workloads.validation import InputError, Problem

__all__ = ["own"]


class _Owner(Construct):
    """A mark in the tree: the cluster has an owner of something."""

    def __init__(self, scope: Construct, id: str, *, path: str) -> None:
        super().__init__(scope, id)
        self.path = path


def own(
    construct: Construct, cluster: eks.ICluster | eks.Cluster, what: str, *, fix: str = "remove one of the two"
) -> None:
    """Make a construct the owner of a part that a cluster has once, such as "plugin for nvidia.com/gpu".

    Raises:
        InputError: Another construct owns it, or the cluster's stack waits for the construct's.
    """
    order_stacks(construct, "", cluster=cluster)
    # Beside the cluster: jsii does not know that an imported one is a construct. An id cannot have a slash.
    stack, id = Stack.of(cluster), f"Owner of the {what.replace('/', ' ')} in {cluster.node.addr}"
    owner = stack.node.try_find_child(id)
    if isinstance(owner, _Owner):
        path, allowed = (construct.node.path,), f"{owner.path} owns that of the cluster"
        raise InputError(Problem(path=path, given=f"a second {what}", allowed=allowed, fix=fix))
    _Owner(stack, id, path=construct.node.path)
