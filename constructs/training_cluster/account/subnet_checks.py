"""The check of the free addresses in the subnets of a deployed cluster."""

from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.cluster.addons import ADDRESSES_PER_NODE

__all__ = ["subnets_have_addresses"]

_CHECK = "addresses"


def subnets_have_addresses(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the free addresses of each training subnet with the nodes that may start; pods take addresses too."""
    subnets = deployment.cluster.ids("AWS::EC2::Subnet") if deployment.cluster else ()
    if not subnets:
        yield skipped(_CHECK, f"there is no {deployment.cluster_stack} yet; the file's own check has counted them")
        return
    found = deployment.account.ask("ec2", "describe_subnets", SubnetIds=list(subnets))["Subnets"]
    wanted: dict[str, int] = {}
    for group in deployment.config.node_groups.values():
        running = deployment.running[group.instance_type, group.capacity_type == "SPOT"]
        each = ADDRESSES_PER_NODE - 1 + group.spec.ip_interfaces
        zone = deployment.zone_of(group)
        wanted[zone] = wanted.get(zone, 0) + max(0, group.spec.maximum - running) * each
    for zone, addresses in wanted.items():
        # The public subnets have a gateway and nothing else.
        private = [each for each in found if each["AvailabilityZone"] == zone and not each["MapPublicIpOnLaunch"]]
        free = max((each["AvailableIpAddressCount"] for each in private), default=0)
        yield decided(
            f"{_CHECK} in {zone}",
            free >= addresses,
            actual=f"{free} free" if private else "the VPC has no private subnet there",
            needed=f"{addresses} for the nodes that may start",
            remedy="lower max_size, or deploy a cluster with a larger vpc_cidr: subnets cannot grow",
        )
