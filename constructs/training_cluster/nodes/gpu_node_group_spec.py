"""Which GPU nodes a group has, and how many."""

from dataclasses import dataclass

from pydantic import ConfigDict

from training_cluster.nodes.gpu_node_group_rules import RULES, instance_type_is_a_name
from training_workloads import InstanceType, gpu_instance_type
from training_workloads.catalog import NetworkInterface
from training_workloads.validation import enforce

__all__ = ["GpuNodeGroupSpec"]


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNodeGroupSpec:
    """Which nodes, and how many.

    Attributes:
        instance_type: EC2 type with GPUs.
        min_size: Fewest nodes; with 0 the group scales to zero when no job needs it.
        desired_size: Nodes at deployment. Default: `min_size`.
        max_size: Most nodes, to which the autoscaler may go. Default: the larger of `desired_size` and 1.
        capacity_type: How EC2 sells the nodes: ON_DEMAND, SPOT or CAPACITY_BLOCK (Capacity Block for ML).
        capacity_reservation_id: The On-Demand Capacity Reservation or Capacity Block (`cr-…`) that the nodes run in.
            Default: none.
        placement_group: Whether the nodes get a cluster placement group of their own. Default: yes where the type
            can, unless a reservation decides the placement, or Spot capacity is scarce enough without.
        efa: Whether the nodes get all EFA interfaces of their type. Default: yes where the type has them.
        ami_release: Release of the AL2023 NVIDIA AMI of EKS, such as 1.35.0-20260917. Default: the newest at
            deployment.
        availability_zone: Zone of the nodes, which must be that of the file system. Default: the first zone.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    instance_type: str
    min_size: int = 0
    desired_size: int | None = None
    max_size: int | None = None
    capacity_type: str = "ON_DEMAND"
    capacity_reservation_id: str | None = None
    placement_group: bool | None = None
    efa: bool | None = None
    ami_release: str | None = None
    availability_zone: str | None = None

    def __post_init__(self) -> None:
        """Checks the values against the catalog and against each other."""
        enforce(self, RULES)

    @property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        instance_type_is_a_name(self)
        return gpu_instance_type(self.instance_type)

    @property
    def desired(self) -> int:
        """Nodes at deployment."""
        return self.min_size if self.desired_size is None else self.desired_size

    @property
    def maximum(self) -> int:
        """Most nodes."""
        return max(self.desired, 1) if self.max_size is None else self.max_size

    @property
    def in_placement_group(self) -> bool:
        """Whether the group makes a placement group."""
        if self.placement_group is None:
            scarce = self.capacity_type == "SPOT" or self.capacity_reservation_id is not None
            return self.instance.placement_group and not scarce
        return self.placement_group

    @property
    def network_interfaces(self) -> tuple[NetworkInterface, ...]:
        """Interfaces of each node, the primary first."""
        return self.instance.network_interfaces[:1] if self.efa is False else self.instance.network_interfaces

    @property
    def efa_interfaces(self) -> int:
        """EFA devices of each node."""
        return 0 if self.efa is False else self.instance.efa_interfaces

    @property
    def ip_interfaces(self) -> int:
        """Interfaces of each node that take an address of its subnet."""
        return 1 if self.efa is False else self.instance.ip_interfaces
