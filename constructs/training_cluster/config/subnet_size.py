"""The addresses of a training subnet, which the nodes and their pods share."""

from collections.abc import Mapping

from training_cluster.cluster.addons import ADDRESSES_PER_NODE
from training_cluster.config.sections import GpuNodeGroupConfig
from training_cluster.network.addresses import private_subnet_prefix, usable_addresses
from training_cluster.nodes.system_nodes import MOST_SYSTEM_NODES
from training_workloads.validation import Problem, Problems

__all__ = ["subnet_holds_nodes"]

# EKS needs 16 free addresses in each subnet of its control plane:
# https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
_EKS_ADDRESSES = 16


def subnet_holds_nodes(vpc_cidr: str, zones: int, node_groups: Mapping[str, GpuNodeGroupConfig]) -> Problems:
    """Reject node groups that need more addresses than the subnet of their zone has.

    Args:
        vpc_cidr: Range of the VPC.
        zones: Number of zones that share it.
        node_groups: Those of one zone, by name.
    """
    prefix = private_subnet_prefix(vpc_cidr, zones)
    free = usable_addresses(prefix) - _EKS_ADDRESSES - MOST_SYSTEM_NODES * ADDRESSES_PER_NODE
    wanted = {name: each.maximum * (ADDRESSES_PER_NODE - 1 + each.ip_interfaces) for name, each in node_groups.items()}
    if sum(wanted.values()) > free:
        groups = ", ".join(f"{name} at max_size {node_groups[name].maximum}: {wanted[name]}" for name in wanted)
        yield Problem(
            path=("vpc_cidr",),
            given=vpc_cidr,
            allowed=f"its subnets (/{prefix}) have {free} addresses for GPU nodes and their pods, and the node groups "
            f"can take {sum(wanted.values())} ({groups})",
            fix="give a larger range, fewer zones, or lower max_size",
            related=(("availability_zones",), *(("node_groups", name, "max_size") for name in wanted)),
        )
