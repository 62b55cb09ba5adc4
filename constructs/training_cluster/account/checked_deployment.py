"""A configuration and the account in which it is to be deployed: what the checks read."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import DeployedStack, find_stack, running_instances
from training_cluster.config import ClusterConfig, GpuNodeGroupConfig

__all__ = ["Deployment", "Zone"]

# CDK takes the first two of the region.
_DEFAULT_ZONES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Zone:
    """An availability zone of the region.

    Attributes:
        name: Its name in this account, such as us-east-1a.
        id: Its id in every account, such as use1-az1.
    """

    name: str
    id: str


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A configuration in an account.

    Attributes:
        config: The configuration.
        account: The account.
        cluster_stack: Name of the cluster's stack.
        data_stack: Name of the stack with the bucket and the images.
    """

    config: ClusterConfig
    account: Account
    cluster_stack: str
    data_stack: str

    @cached_property
    def cluster(self) -> DeployedStack | None:
        """The cluster's stack, if it is deployed."""
        return find_stack(self.account, self.cluster_stack)

    @cached_property
    def data(self) -> DeployedStack | None:
        """The stack with the bucket and the images, if it is deployed."""
        return find_stack(self.account, self.data_stack)

    @cached_property
    def region_zones(self) -> tuple[Zone, ...]:
        """The availability zones of the region, without local and wavelength zones, by name."""
        only = [{"Name": "zone-type", "Values": ["availability-zone"]}]
        found = self.account.ask("ec2", "describe_availability_zones", Filters=only)["AvailabilityZones"]
        zones = (Zone(name=each["ZoneName"], id=each.get("ZoneId", "")) for each in found)
        return tuple(sorted(zones, key=lambda zone: zone.name))

    @cached_property
    def zones(self) -> tuple[str, ...]:
        """The names of the zones of the VPC."""
        first = tuple(zone.name for zone in self.region_zones[:_DEFAULT_ZONES])
        return tuple(self.config.availability_zones) or first

    def zone_of(self, group: GpuNodeGroupConfig) -> str:
        """Return the zone of a node group."""
        return group.availability_zone or self.config.training_zone or self.zones[0]

    @cached_property
    def running(self) -> Counter[tuple[str, bool]]:
        """The nodes of the deployed cluster, by their type and whether they are Spot instances."""
        return running_instances(self.account, self.cluster) if self.cluster else Counter()
