"""What a cluster may have once: a second one is refused where it is defined."""

from aws_cdk import Stack
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_workloads import InputError

__all__ = ["own"]


class _Owner(Construct):
    """Marks in the tree that a cluster has something."""

    def __init__(self, scope: Construct, id: str, *, path: str) -> None:
        super().__init__(scope, id)
        self.path = path


def own(construct: Construct, cluster: eks.ICluster, what: str) -> None:
    """Makes a construct the owner of something in a cluster.

    Args:
        construct: The new owner.
        cluster: The cluster.
        what: What there is once, such as "plugin for nvidia.com/gpu".

    Raises:
        InputError: Another construct owns it.
    """
    # Beside the cluster: jsii takes an imported one for no construct. An id cannot hold a slash.
    stack, id = Stack.of(cluster), f"Owner of the {what.replace('/', ' ')} in {cluster.node.addr}"
    owner = stack.node.try_find_child(id)
    if isinstance(owner, _Owner):
        raise InputError(
            f"'{construct.node.path}' is a second {what} in one cluster; "
            f"keep that of {owner.path!r} and remove this one"
        )
    _Owner(stack, id, path=construct.node.path)
