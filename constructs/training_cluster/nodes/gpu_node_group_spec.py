"""The values of a GPU node group, and the rules that compare them: one function a rule."""

from typing import Annotated, Any, get_args

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from pydantic import Field

from training_cluster.nodes.ami_release import LATEST, AmiRelease, driver_branches, valid_name
from training_cluster.nodes.node_limits import min_size_is_at_most_max_size
from training_cluster.nodes.node_parts import IMAGES_MIB_PER_SECOND
from training_cluster.nodes.node_placement import (
    SHOWS_RESERVATIONS,
    PlacementGroup,
    Reservation,
    reservation_group_region,
)
from training_cluster.nodes.node_repair import NodeRepair
from training_workloads import InstanceType, gpu_instance_type
from training_workloads.catalog import INSTANCE_TYPES, NetworkInterface
from training_workloads.catalog.instances import supported_gpu_type
from training_workloads.catalog.nodes import GPU_ROOT_VOLUME_GIB, CapacityType
from training_workloads.catalog.provisioned_storage import FREE_IOPS, FREE_MIB_PER_SECOND, IOPS_PER_MIB, RootVolume
from training_workloads.spec import Checked, Converted, Spec
from training_workloads.validation import MISSING, Problem, Problems, at_least, one_of

__all__ = ["GpuNodeGroupSpec"]

# The largest Capacity Block: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html
_LARGEST_CAPACITY_BLOCK = 64

# Of gp3: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-performance
_MOST_MIB_PER_SECOND = 2000
_MOST_IOPS = 80000

_EXAMPLE = next(each.name for each in INSTANCE_TYPES.values() if each.capacity_block)


def _type_name(instance_type: Any) -> Any:
    return instance_type.to_string() if isinstance(instance_type, ec2.InstanceType) else instance_type


def _gpu_type(name: str, value: Any) -> Problems:
    yield from supported_gpu_type(value)


class GpuNodeGroupSpec(Spec):
    """The nodes of a GPU node group and their number.

    Attributes:
        instance_type: EC2 type with GPUs, any of the catalog: g4dn, g5, g6, gr6, g6e, g7, g7e, p3dn, p4, p5, p6.
        min_size: Minimum number of nodes; with 0 the group scales to zero when no job needs it.
        desired_size: Nodes at deployment. Default: `min_size`.
        max_size: Maximum number of nodes, the limit of the autoscaler. Default: the larger of `desired_size` and 1.
        capacity_type: ON_DEMAND, SPOT or CAPACITY_BLOCK (Capacity Block for ML).
        capacity_reservation_id: The On-Demand Capacity Reservation or Capacity Block (`cr-…`) that the nodes run in, or
            the ARN of a resource group of On-Demand Capacity Reservations. Default: none.
        placement_group: Whether the nodes get a new cluster placement group, or the name of an existing one, such as
            that of their reservation. Default: a new one where the type can, unless a reservation decides the
            placement, or Spot capacity is scarce enough without.
        efa: Whether the nodes get all EFA interfaces of their type; without, they have the primary interface only, and
            jobs must be rendered with `--efa-interfaces 0`. Default: yes where the type has them.
        ami_release: Release of the AL2023 NVIDIA AMI of EKS, such as 1.35.0-20260917, or `latest`: the newest when
            `cdk` first looks it up, which `cdk.context.json` keeps.
        root_volume_mib_per_second: Throughput of the root volume, 125 to 2000 MiB/s. Default: 600 where it holds the
            container images; 125, which costs nothing, where local NVMe disks hold them.
        root_volume_iops: I/O operations per second of the root volume, 3000 to 80000. Default: what its throughput
            needs.
        fast_image_pull: Whether the AMI pulls and unpacks images in parallel, which AWS calls experimental.
        ssm: Whether Session Manager opens shells on the nodes (`aws ssm start-session --target <instance id>`). Without
            NAT the network needs its endpoints too: `TrainingNetwork(ssm=True)`.
        node_repair: Limits of EKS's repair of unhealthy nodes. Default: one node at a time.
    """

    instance_type: Annotated[Converted[ec2.InstanceType | str, str], Checked(_gpu_type, read=_type_name)] = Field(
        examples=[_EXAMPLE]
    )
    min_size: Annotated[int, Checked(at_least, 0)] = 0
    desired_size: Annotated[int, Checked(at_least, 0)] | None = None
    # EKS requires room for one node.
    max_size: Annotated[int, Checked(at_least, 1)] | None = None
    capacity_type: Annotated[
        Converted[eks.CapacityType | str, str],
        Checked(one_of, get_args(CapacityType), read=lambda given: getattr(given, "value", given)),
    ] = Field(default="ON_DEMAND", validate_default=True)
    capacity_reservation_id: Reservation | None = None
    placement_group: PlacementGroup = Field(default=None, validate_default=True)
    efa: bool | None = None
    ami_release: AmiRelease = LATEST
    root_volume_mib_per_second: Annotated[int, Checked(at_least, FREE_MIB_PER_SECOND, _MOST_MIB_PER_SECOND)] | None = (
        None
    )
    root_volume_iops: Annotated[int, Checked(at_least, FREE_IOPS, _MOST_IOPS)] | None = None
    fast_image_pull: bool = False
    ssm: bool = False
    node_repair: NodeRepair | None = Field(default=None, examples=["max_parallel_nodes_repaired_count: 2"])

    @property
    def instance(self) -> InstanceType:
        """Return the catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @property
    def desired(self) -> int:
        """Return the number of nodes at deployment."""
        return self.min_size if self.desired_size is None else self.desired_size

    @property
    def maximum(self) -> int:
        """Return the maximum number of nodes."""
        return max(self.desired, 1) if self.max_size is None else self.max_size

    @property
    def in_placement_group(self) -> bool:
        """Return whether the nodes are in a placement group, a new or an existing one."""
        if self.placement_group is None:
            scarce = self.capacity_type == "SPOT" or self.capacity_reservation_id is not None
            return self.instance.placement_group and not scarce
        return bool(self.placement_group)

    @property
    def reservation_group(self) -> bool:
        """Return whether the nodes run in any reservation of a resource group."""
        return reservation_group_region(self.capacity_reservation_id) is not None

    @property
    def network_interfaces(self) -> tuple[NetworkInterface, ...]:
        """Return the interfaces of each node, the primary first."""
        return self.instance.network_interfaces[:1] if self.efa is False else self.instance.network_interfaces

    @property
    def efa_interfaces(self) -> int:
        """Return the number of EFA devices of each node."""
        return 0 if self.efa is False else self.instance.efa_interfaces

    @property
    def ip_interfaces(self) -> int:
        """Return the number of interfaces of each node that take an address of its subnet."""
        return 1 if self.efa is False else self.instance.ip_interfaces

    @property
    def root_volume(self) -> RootVolume:
        """Return the size and speed of the root volume."""
        return RootVolume.with_throughput(GPU_ROOT_VOLUME_GIB, self.volume_mib_per_second, self.root_volume_iops)

    @property
    def volume_mib_per_second(self) -> int:
        """Return the throughput of the root volume in MiB/s."""
        if self.root_volume_mib_per_second is not None:
            return self.root_volume_mib_per_second
        # With local disks, containerd's files and those of its SOCI snapshotter are on these.
        return FREE_MIB_PER_SECOND if self.instance.local_nvme_gb else IMAGES_MIB_PER_SECOND


GpuNodeGroupSpec.rule(min_size_is_at_most_max_size)


@GpuNodeGroupSpec.rule
def desired_size_is_in_range(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a desired size outside the limits, as EKS does."""
    if spec.min_size > (spec.max_size or spec.min_size):
        return
    if spec.max_size is None and spec.desired < spec.min_size:
        yield Problem(
            path=("desired_size",),
            given=spec.desired,
            allowed=f"min_size is {spec.min_size}",
            fix=f"give {spec.min_size} or more",
            related=(("min_size",),),
        )
    elif not spec.min_size <= spec.desired <= spec.maximum:
        yield Problem(
            path=("desired_size",),
            given=spec.desired,
            fix=f"give a number from min_size ({spec.min_size}) to max_size ({spec.maximum})",
            related=(("min_size",), ("max_size",)),
        )


@GpuNodeGroupSpec.rule
def spot_has_no_reservation(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a reservation for Spot instances, which never run in one."""
    if spec.capacity_type == "SPOT" and spec.capacity_reservation_id is not None:
        yield Problem(
            path=("capacity_reservation_id",),
            given=spec.capacity_reservation_id,
            allowed="Spot instances cannot use a reservation",
            fix="set capacity_type to ON_DEMAND, or to CAPACITY_BLOCK if it is one",
            related=(("capacity_type",),),
        )


@GpuNodeGroupSpec.rule
def capacity_block_names_its_reservation(spec: GpuNodeGroupSpec) -> Problems:
    """Reject this capacity type without the block's id, as EKS does."""
    if spec.capacity_type == "CAPACITY_BLOCK" and spec.capacity_reservation_id is None:
        yield Problem(
            path=("capacity_reservation_id",),
            given=MISSING,
            allowed="capacity_type CAPACITY_BLOCK needs it",
            fix=f"give the id of the block that you bought ({SHOWS_RESERVATIONS})",
            related=(("capacity_type",),),
        )


@GpuNodeGroupSpec.rule
def capacity_block_sells_the_type(spec: GpuNodeGroupSpec) -> Problems:
    """Reject types that EC2 does not sell as Capacity Blocks."""
    if spec.capacity_type == "CAPACITY_BLOCK" and not spec.instance.capacity_block:
        yield Problem(
            path=("capacity_type",),
            given=spec.capacity_type,
            allowed=f"EC2 does not sell it for {spec.instance_type}",
            fix="set it to ON_DEMAND or SPOT, or choose a type such as those of the p5 family",
            related=(("instance_type",),),
        )


@GpuNodeGroupSpec.rule
def capacity_block_is_large_enough(spec: GpuNodeGroupSpec) -> Problems:
    """Reject more instances than a block can have."""
    if spec.capacity_type == "CAPACITY_BLOCK" and spec.maximum > _LARGEST_CAPACITY_BLOCK:
        yield Problem(
            path=("max_size",),
            given=spec.maximum,
            allowed=f"a Capacity Block has at most {_LARGEST_CAPACITY_BLOCK} instances",
            fix="lower it to the size of yours, or use a node group for each block",
            related=(("capacity_type",),),
        )


@GpuNodeGroupSpec.rule
def placement_group_goes_without_a_reservation(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a new placement group with a reservation: its hosts can be apart from the group's."""
    if spec.placement_group is True and spec.capacity_reservation_id is not None:
        yield Problem(
            path=("placement_group",),
            given=True,
            allowed=f"the reservation {spec.capacity_reservation_id} decides the placement and a new group may not "
            "reach all of its instances",
            fix="omit it, or name the placement group in which the reservation was made",
            related=(("capacity_reservation_id",),),
        )


@GpuNodeGroupSpec.rule
def capacity_block_is_in_no_placement_group(spec: GpuNodeGroupSpec) -> Problems:
    """Reject an existing placement group for a Capacity Block, whose instances EC2 places close to each other."""
    if spec.capacity_type == "CAPACITY_BLOCK" and isinstance(spec.placement_group, str):
        yield Problem(
            path=("placement_group",),
            given=spec.placement_group,
            allowed="EC2 decides the placement of a Capacity Block's instances",
            fix="omit it",
            related=(("capacity_type",),),
        )


@GpuNodeGroupSpec.rule
def capacity_block_is_no_resource_group(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a resource group for a Capacity Block, of which EKS takes the id.

    https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
    """
    if spec.capacity_type == "CAPACITY_BLOCK" and spec.reservation_group:
        yield Problem(
            path=("capacity_reservation_id",),
            given=spec.capacity_reservation_id,
            allowed="a node group runs in one Capacity Block and not in a group of them",
            fix=f"give the id of the block ({SHOWS_RESERVATIONS}), and a node group for each further one: a job may "
            "span them",
            related=(("capacity_type",),),
        )


@GpuNodeGroupSpec.rule
def placement_group_takes_the_type(spec: GpuNodeGroupSpec) -> Problems:
    """Reject types that cannot be in a cluster placement group."""
    if spec.placement_group and not spec.instance.placement_group:
        yield Problem(
            path=("placement_group",),
            given=spec.placement_group,
            allowed=f"{spec.instance_type} cannot be launched in a cluster placement group",
            fix="omit placement_group",
            related=(("instance_type",),),
        )


@GpuNodeGroupSpec.rule
def efa_is_on_the_type(spec: GpuNodeGroupSpec) -> Problems:
    """Reject EFA on a type without it: its launch template would launch nothing."""
    if spec.efa and not spec.instance.efa_interfaces:
        yield Problem(
            path=("efa",),
            given=True,
            allowed=f"{spec.instance_type} has no EFA",
            fix="omit efa, or choose a type that has it, such as the largest of its family",
            related=(("instance_type",),),
        )


@GpuNodeGroupSpec.rule
def ami_release_is_a_good_one(spec: GpuNodeGroupSpec) -> Problems:
    """Reject digits that are not a day, and a release with a known fault on these nodes."""
    yield from valid_name(spec.ami_release, "nvidia", spec.instance_type)


@GpuNodeGroupSpec.rule
def ami_has_a_driver_for_the_gpu(spec: GpuNodeGroupSpec) -> Problems:
    """Reject an AMI without a driver for the GPU.

    NVIDIA's newer driver branches drop old GPUs (Volta after 580), older ones do not know new GPUs.
    """
    gpu, branches = spec.instance.gpu, driver_branches(spec.ami_release)
    if gpu is None or not branches:
        return
    oldest, newest = gpu.oldest_driver_branch or 0, gpu.newest_driver_branch or max(branches)
    if not any(oldest <= branch <= newest for branch in branches):
        needed = f"{newest} or older" if min(branches) > newest else f"{oldest} or newer"
        yield Problem(
            path=("ami_release",),
            given=spec.ami_release,
            allowed=f"its NVIDIA drivers ({', '.join(map(str, branches))}) do not run the {gpu.model} of "
            f"{spec.instance_type}, which needs branch {needed}",
            fix="pin an AMI release that has it, or choose another instance type",
            related=(("instance_type",),),
        )


@GpuNodeGroupSpec.rule
def root_volume_iops_carry_the_throughput(spec: GpuNodeGroupSpec) -> Problems:
    """Reject more throughput than the IOPS carry, as EBS does."""
    needed = IOPS_PER_MIB * spec.volume_mib_per_second
    if spec.root_volume_iops is not None and spec.root_volume_iops < needed:
        yield Problem(
            path=("root_volume_iops",),
            given=spec.root_volume_iops,
            allowed=f"{spec.volume_mib_per_second} MiB/s need {needed}: EBS gives 0.25 MiB/s for each",
            fix="omit it, or lower root_volume_mib_per_second",
            related=(("root_volume_mib_per_second",),),
        )


@GpuNodeGroupSpec.rule
def fast_image_pull_has_a_fast_disk(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a root volume on which the parallel pull is slower than the ordinary one."""
    slow = not spec.instance.local_nvme_gb and spec.volume_mib_per_second < IMAGES_MIB_PER_SECOND
    if spec.fast_image_pull and slow:
        yield Problem(
            path=("root_volume_mib_per_second",),
            given=spec.root_volume_mib_per_second,
            allowed=f"fast_image_pull needs {IMAGES_MIB_PER_SECOND}, below which pulls become slower with it",
            fix=f"give {IMAGES_MIB_PER_SECOND} or more, better 1000, or omit fast_image_pull",
            related=(("fast_image_pull",),),
        )
