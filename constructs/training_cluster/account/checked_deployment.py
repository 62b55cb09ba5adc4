"""A configuration and the account in which it is to be deployed, as the checks read them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_network
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.check_result import CheckResult, skipped
from training_cluster.account.deployed_stack import (
    FILE_SYSTEM,
    SUBNET,
    DeployedStack,
    NodeKind,
    find_stack,
    kubernetes_release,
    running_nodes,
)
from training_cluster.account.lustre_state import find_lustre
from training_cluster.config import ClusterConfig, GpuNodeGroupConfig
from training_cluster.network.training_network import DEFAULT_ZONES
from training_cluster.nodes.gpu_node_group import node_group_label

__all__ = ["Deployment", "Zone"]


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
        context: Context of the kubeconfig. Default: the current one.
    """

    config: ClusterConfig
    account: Account
    cluster_stack: str
    data_stack: str
    context: str | None = None

    @cached_property
    def cluster(self) -> DeployedStack | None:
        """The cluster's stack, if it is deployed."""
        return find_stack(self.account, self.cluster_stack)

    @cached_property
    def release(self) -> str | None:
        """The Kubernetes release of the deployed cluster, such as 1.35; None without one."""
        return kubernetes_release(self.account, self.cluster) if self.cluster else None

    @cached_property
    def data(self) -> DeployedStack | None:
        """The stack with the bucket and the images, if it is deployed."""
        return find_stack(self.account, self.data_stack)

    @property
    def bucket_name(self) -> str | None:
        """The bucket of the data; None before the data stack is deployed, unless the configuration names it."""
        return self.config.existing_bucket or (self.data.outputs.get("BucketName") if self.data else None)

    @property
    def repository_name(self) -> str | None:
        """The repository of the images, as `bucket_name`."""
        address = self.data.outputs.get("ImageRepositoryUri", "") if self.data else ""
        return self.config.existing_repository or address.partition("/")[2] or None

    @cached_property
    def existing_lustre(self) -> dict[str, Any] | None:
        """FSx's description of the file system of `existing_lustre`; None without one."""
        existing = self.config.existing_lustre
        return find_lustre(self.account, existing.file_system_id) if existing else None

    @property
    def lustre_ids(self) -> tuple[str, ...]:
        """The Lustre file systems of the deployed stack, and the one of `existing_lustre`."""
        existing = self.config.existing_lustre
        return (*self.deployed_lustre, *([existing.file_system_id] if existing else []))

    @property
    def deployed_lustre(self) -> tuple[str, ...]:
        """The Lustre file systems of the deployed stack."""
        return self.cluster.ids(FILE_SYSTEM) if self.cluster else ()

    @property
    def first_lustre(self) -> str | None:
        """The deployed Lustre file system of the training zone, which the stack's output names."""
        first = next(iter(self.deployed_lustre), None)
        return self.cluster.outputs.get("FileSystemId", first) if self.cluster else None

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
        named = self.config.availability_zones
        return tuple(named) or tuple(zone.name for zone in self.region_zones[:DEFAULT_ZONES])

    def subnets(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return those of some subnets that the region has."""
        # A filter omits a subnet that does not exist; as an argument it would be an error without the others.
        only = [{"Name": "subnet-id", "Values": list(ids)}]
        return self.account.all("ec2", "describe_subnets", "Subnets", Filters=only)

    @cached_property
    def node_subnets(self) -> list[dict[str, Any]]:
        """The private subnets that the deployed stack made; empty before there are any."""
        ids = self.cluster.ids(SUBNET) if self.cluster else ()
        # The public subnets have a gateway and nothing else.
        return [each for each in self.subnets(ids) if not each["MapPublicIpOnLaunch"]] if ids else []

    @property
    def deployed_zones(self) -> tuple[str, ...]:
        """The zones of the VPC that the deployed stack made, the first one first; empty without one."""
        # The CDK gives the ranges of a VPC away in the order of the zones.
        ordered = sorted(self.node_subnets, key=lambda each: ip_network(each["CidrBlock"]))
        return tuple(each["AvailabilityZone"] for each in ordered)

    @property
    def training_zone(self) -> str:
        """The zone of the first file system, and of the groups that name none."""
        return self.config.training_zone or self.zones[0]

    def zone_of(self, group: GpuNodeGroupConfig) -> str:
        """Return the zone of a node group."""
        return group.availability_zone or self.training_zone

    @property
    def training_zone_key(self) -> str:
        """The key of the configuration that decides the training zone."""
        if self.config.lustre.availability_zone:
            return "lustre.availability_zone"
        named = (name for name, each in self.config.node_groups.items() if each.availability_zone)
        return next(map(_zone_key, named), "availability_zones")

    def zone_key(self, group: str) -> str:
        """Return the key of the configuration that decides the zone of a node group."""
        has_one = self.config.node_groups[group].availability_zone is not None
        return _zone_key(group) if has_one else self.training_zone_key

    def put_into(self, group: str, zone: str) -> str:
        """Return the fix that puts a node group into another zone, in the imperative."""
        key = self.zone_key(group)
        if key == self.training_zone_key and self.cluster:
            return self._beside(group, zone)
        if key == "availability_zones":
            return f"put {zone} first in availability_zones"
        at_the_end = "the end of availability_zones" if self.cluster else "availability_zones"
        lists = [] if zone in self.config.availability_zones else [at_the_end]
        if key != self.training_zone_key and zone not in (self.training_zone, *self.config.lustre.further_zones):
            lists.append("lustre.further_zones")
        also = f", and add it to {' and '.join(lists)}" if lists else ""
        return f"set {key} to {zone}{also}"

    def _beside(self, group: str, zone: str) -> str:
        """Return the fix that puts a node group into another zone than the deployed file system, which stays."""
        first, second = self.training_zone, f"deploy a second cluster in {zone}"
        if self.config.existing_lustre:
            return f"{second}: the file system of existing_lustre is in {first}"
        zones = dict.fromkeys([*self.zones, zone])
        further = dict.fromkeys([*self.config.lustre.further_zones, zone])
        return (
            f"keep {first}, the zone of the deployed file system, and add one in {zone}: set "
            f"availability_zones: [{', '.join(zones)}], lustre.availability_zone: {first}, "
            f"lustre.further_zones: [{', '.join(further)}] and node_groups.{group}.availability_zone: {zone}; "
            f"or add another node group there, or {second}"
        )

    @cached_property
    def running(self) -> Counter[NodeKind]:
        """The nodes of the deployed cluster."""
        return running_nodes(self.account, self.cluster) if self.cluster else Counter()

    def missing_nodes(self, group: str) -> int:
        """Return how many nodes of a group may still start: those up to `max_size` that do not run."""
        wanted = self.config.node_groups[group]
        spot = wanted.capacity_type == "SPOT"
        kind = NodeKind(group=node_group_label(group), instance_type=wanted.instance_type, spot=spot)
        return max(0, wanted.maximum - self.running[kind])

    @property
    def missing_system_nodes(self) -> int:
        """How many system nodes may still start."""
        wanted = self.config.system_nodes
        running = (count for kind, count in self.running.items() if kind.instance_type == wanted.instance_type)
        return max(0, wanted.maximum - sum(running))

    def without_data_stack(self, check: str) -> CheckResult:
        """Return the result of a check that needs the data stack, where it is not deployed."""
        where, fix = self.account.region, f"run 'cdk deploy {self.data_stack}'"
        return skipped(check, f"there is no {self.data_stack} with it in {where} yet", fix)


def _zone_key(group: str) -> str:
    return f"node_groups.{group}.availability_zone"
