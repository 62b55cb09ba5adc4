"""The check of the free addresses in the subnets of the nodes."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.cluster.addons import ADDRESSES_PER_NODE

__all__ = ["subnets_have_addresses"]

_CHECK = "addresses"


def subnets_have_addresses(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the free addresses of each training subnet with the nodes that may start; pods take addresses too."""
    found = _private_subnets(deployment)
    if found is None:
        yield skipped(_CHECK, f"there is no {deployment.cluster_stack} yet; the file's own check has counted them")
        return
    wanted: Counter[str] = Counter()
    for name, group in deployment.config.node_groups.items():
        each = ADDRESSES_PER_NODE - 1 + group.ip_interfaces
        wanted[deployment.zone_of(group)] += deployment.missing_nodes(name) * each
    # Each of them starts in any zone.
    system = deployment.missing_system_nodes * ADDRESSES_PER_NODE
    for zone, addresses in wanted.items():
        free = [each["AvailableIpAddressCount"] for each in found if each["AvailabilityZone"] == zone]
        yield decided(
            f"{_CHECK} in {zone}",
            max(free, default=0) >= addresses + system,
            actual=f"{max(free)} free" if free else "the VPC has no private subnet there",
            needed=f"{addresses + system} for the nodes that may start",
            remedy=_remedy(deployment),
        )


def _private_subnets(deployment: Deployment) -> list[dict[str, Any]] | None:
    """Return the subnets in which nodes may start; None before there are any."""
    existing = deployment.config.existing_vpc
    if existing:
        return deployment.subnets(existing.private_subnet_ids)
    ids = deployment.cluster.ids("AWS::EC2::Subnet") if deployment.cluster else ()
    # The public subnets have a gateway and nothing else.
    return [each for each in deployment.subnets(ids) if not each["MapPublicIpOnLaunch"]] if ids else None


def _remedy(deployment: Deployment) -> str:
    if deployment.config.existing_vpc:
        return "lower max_size, or name a larger subnet in existing_vpc.private_subnet_ids"
    return "lower max_size, or deploy a cluster with a larger vpc_cidr: subnets cannot grow"
