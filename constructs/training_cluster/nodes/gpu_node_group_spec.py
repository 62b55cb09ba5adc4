"""The values of a GPU node group, and their rules: one function a rule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from training_cluster.checks import valid_flag, valid_id, valid_string
from training_cluster.nodes.ami_release import AMI_RELEASE, bad_release, driver_branches, has_date, is_release
from training_cluster.nodes.node_parts import FREE_IOPS, FREE_MIB_PER_SECOND, IMAGES_MIB_PER_SECOND, IOPS_PER_MIB
from training_workloads import InstanceType, gpu_instance_type
from training_workloads.catalog import NetworkInterface
from training_workloads.catalog.nodes import CapacityType
from training_workloads.validation import MISSING, Problem, Problems, at_least, enforce, matches, one_of

__all__ = ["RULES", "GpuNodeGroupSpec"]

# Those of https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
_CAPACITY_TYPES = get_args(CapacityType)

# The largest Capacity Block: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html
_LARGEST_CAPACITY_BLOCK = 64

# Of gp3: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-performance
_MOST_MIB_PER_SECOND = 2000
_MOST_IOPS = 80000

_SHOWS_RESERVATIONS = "aws ec2 describe-capacity-reservations"


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNodeGroupSpec:
    """The nodes of a group and their number.

    Attributes:
        instance_type: EC2 type with GPUs.
        min_size: Minimum number of nodes; with 0 the group scales to zero when no job needs it.
        desired_size: Nodes at deployment. Default: `min_size`.
        max_size: Maximum number of nodes, the limit of the autoscaler. Default: the larger of `desired_size` and 1.
        capacity_type: ON_DEMAND, SPOT or CAPACITY_BLOCK (Capacity Block for ML).
        capacity_reservation_id: The On-Demand Capacity Reservation or Capacity Block (`cr-…`) that the nodes run in.
            Default: none.
        placement_group: Whether the nodes get a new cluster placement group. Default: yes where the type can,
            unless a reservation decides the placement, or Spot capacity is scarce enough without.
        efa: Whether the nodes get all EFA interfaces of their type. Default: yes where the type has them.
        ami_release: Release of the AL2023 NVIDIA AMI of EKS, such as 1.35.0-20260917. Default: the newest at
            deployment.
        root_volume_mib_per_second: Throughput of the root volume, 125 to 2000 MiB/s. Default: 600 where it holds the
            container images; 125, which costs nothing, where local NVMe disks hold them.
        root_volume_iops: I/O operations per second of the root volume, 3000 to 80000. Default: what its throughput
            needs.
        fast_image_pull: Whether the AMI pulls and unpacks images in parallel, which AWS calls experimental.
        ssm: Whether Session Manager opens shells on the nodes.
    """

    instance_type: str
    min_size: int = 0
    desired_size: int | None = None
    max_size: int | None = None
    capacity_type: str = "ON_DEMAND"
    capacity_reservation_id: str | None = None
    placement_group: bool | None = None
    efa: bool | None = None
    ami_release: str | None = None
    root_volume_mib_per_second: int | None = None
    root_volume_iops: int | None = None
    fast_image_pull: bool = False
    ssm: bool = False

    def __post_init__(self) -> None:
        """Validate the values against the catalog and against each other."""
        enforce(self, RULES)

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
        """Return whether the group creates a placement group."""
        if self.placement_group is None:
            scarce = self.capacity_type == "SPOT" or self.capacity_reservation_id is not None
            return self.instance.placement_group and not scarce
        return self.placement_group

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
    def volume_mib_per_second(self) -> int:
        """Return the throughput of the root volume in MiB/s."""
        if self.root_volume_mib_per_second is not None:
            return self.root_volume_mib_per_second
        # With local disks, containerd's files and those of its SOCI snapshotter are on these.
        return FREE_MIB_PER_SECOND if self.instance.local_nvme_gb else IMAGES_MIB_PER_SECOND


def instance_type_has_gpus(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a type that is not in the catalog or has no GPUs."""
    gpu_instance_type(spec.instance_type)
    yield from ()


def min_size_is_a_number(spec: GpuNodeGroupSpec) -> Problems:
    """Accept zero or more."""
    yield from at_least("min_size", spec.min_size, 0)


def desired_size_is_a_number(spec: GpuNodeGroupSpec) -> Problems:
    """Accept zero or more."""
    if spec.desired_size is not None:
        yield from at_least("desired_size", spec.desired_size, 0)


def max_size_is_a_number(spec: GpuNodeGroupSpec) -> Problems:
    """Accept one or more: EKS requires room for one node."""
    if spec.max_size is not None:
        yield from at_least("max_size", spec.max_size, 1)


def min_size_is_at_most_max_size(spec: GpuNodeGroupSpec) -> Problems:
    """Reject limits without anything between them, as EKS does."""
    if _has_sizes(spec) and spec.max_size is not None and spec.min_size > spec.max_size:
        yield Problem(
            path=("min_size",),
            given=spec.min_size,
            allowed=f"max_size is {spec.max_size}",
            fix="lower the one or raise the other",
            related=(("max_size",),),
        )


def desired_size_is_in_range(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a desired size outside the limits, as EKS does."""
    if not _has_sizes(spec) or spec.min_size > (spec.max_size or spec.min_size):
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


def capacity_type_is_known(spec: GpuNodeGroupSpec) -> Problems:
    """Reject what EKS does not sell."""
    yield from valid_string("capacity_type", spec.capacity_type, "SPOT")
    if isinstance(spec.capacity_type, str):
        yield from one_of("capacity_type", spec.capacity_type, _CAPACITY_TYPES)


def reservation_is_an_id(spec: GpuNodeGroupSpec) -> Problems:
    """Reject names and ARNs."""
    if spec.capacity_reservation_id is not None:
        yield from valid_id("capacity_reservation_id", spec.capacity_reservation_id, "cr", _SHOWS_RESERVATIONS)


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


def capacity_block_names_its_reservation(spec: GpuNodeGroupSpec) -> Problems:
    """Reject this capacity type without the block's id, as EKS does."""
    if spec.capacity_type == "CAPACITY_BLOCK" and spec.capacity_reservation_id is None:
        yield Problem(
            path=("capacity_reservation_id",),
            given=MISSING,
            allowed="capacity_type CAPACITY_BLOCK needs it",
            fix=f"give the id of the block that you bought ({_SHOWS_RESERVATIONS})",
            related=(("capacity_type",),),
        )


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


def capacity_block_is_large_enough(spec: GpuNodeGroupSpec) -> Problems:
    """Reject more instances than a block can have."""
    too_large = _has_sizes(spec) and spec.maximum > _LARGEST_CAPACITY_BLOCK
    if spec.capacity_type == "CAPACITY_BLOCK" and too_large:
        yield Problem(
            path=("max_size",),
            given=spec.maximum,
            allowed=f"a Capacity Block has at most {_LARGEST_CAPACITY_BLOCK} instances",
            fix="lower it to the size of yours, or use a node group for each block",
            related=(("capacity_type",),),
        )


def placement_group_is_a_flag(spec: GpuNodeGroupSpec) -> Problems:
    """Reject non-bools."""
    if spec.placement_group is not None:
        yield from valid_flag("placement_group", spec.placement_group)


def placement_group_goes_without_a_reservation(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a new placement group with a reservation: its hosts can be apart from the group's."""
    if spec.placement_group is True and spec.capacity_reservation_id is not None:
        yield Problem(
            path=("placement_group",),
            given=True,
            allowed=f"the reservation {spec.capacity_reservation_id} decides the placement and a new group may not "
            "reach all of its instances",
            fix="omit placement_group",
            related=(("capacity_reservation_id",),),
        )


def placement_group_takes_the_type(spec: GpuNodeGroupSpec) -> Problems:
    """Reject types that cannot be in a cluster placement group."""
    if spec.placement_group is True and not spec.instance.placement_group:
        yield Problem(
            path=("placement_group",),
            given=True,
            allowed=f"{spec.instance_type} cannot be launched in a cluster placement group",
            fix="omit placement_group",
            related=(("instance_type",),),
        )


def efa_is_a_flag(spec: GpuNodeGroupSpec) -> Problems:
    """Reject non-bools."""
    if spec.efa is not None:
        yield from valid_flag("efa", spec.efa)


def efa_is_on_the_type(spec: GpuNodeGroupSpec) -> Problems:
    """Reject EFA on a type without it: its launch template would launch nothing."""
    if spec.efa is True and not spec.instance.efa_interfaces:
        yield Problem(
            path=("efa",),
            given=True,
            allowed=f"{spec.instance_type} has no EFA",
            fix="omit efa, or choose a type that has it, such as the largest of its family",
            related=(("instance_type",),),
        )


def ami_release_is_a_release(spec: GpuNodeGroupSpec) -> Problems:
    """Reject what has not EKS's form: Kubernetes version, then date."""
    if spec.ami_release is not None:
        wanted = "an AMI release of EKS, such as 1.35.0-20260917"
        yield from matches("ami_release", spec.ami_release, AMI_RELEASE, wanted)


def ami_release_has_a_date(spec: GpuNodeGroupSpec) -> Problems:
    """Reject digits that are not a day: a release has the name of its day."""
    if is_release(spec.ami_release) and not has_date(spec.ami_release):
        yield Problem(
            path=("ami_release",),
            given=spec.ami_release,
            allowed="it does not end with a date (year, month, day)",
            fix="give one of https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html",
        )


def ami_release_is_not_a_bad_one(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a release that its own notes, or those of a later one, warn of."""
    bad = bad_release(spec.ami_release) if is_release(spec.ami_release) else None
    if bad:
        yield Problem(
            path=("ami_release",),
            given=spec.ami_release,
            allowed=f"it {bad.reason}",
            fix=f"give a release of {bad.fixed_in} or later, or omit ami_release for the newest",
        )


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
            given=spec.ami_release or "the newest",
            allowed=f"its NVIDIA drivers ({', '.join(map(str, branches))}) do not run the {gpu.model} of "
            f"{spec.instance_type}, which needs branch {needed}",
            fix="pin an AMI release that has it, or choose another instance type",
            related=(("instance_type",),),
        )


def root_volume_throughput_is_one_of_gp3(spec: GpuNodeGroupSpec) -> Problems:
    """Accept what EBS provisions."""
    if spec.root_volume_mib_per_second is not None:
        name, most = "root_volume_mib_per_second", _MOST_MIB_PER_SECOND
        yield from at_least(name, spec.root_volume_mib_per_second, FREE_MIB_PER_SECOND, most)


def root_volume_iops_are_some_of_gp3(spec: GpuNodeGroupSpec) -> Problems:
    """Accept what EBS provisions."""
    if spec.root_volume_iops is not None:
        yield from at_least("root_volume_iops", spec.root_volume_iops, FREE_IOPS, _MOST_IOPS)


def root_volume_iops_carry_the_throughput(spec: GpuNodeGroupSpec) -> Problems:
    """Reject more throughput than the IOPS carry, as EBS does."""
    wrong = [*root_volume_throughput_is_one_of_gp3(spec), *root_volume_iops_are_some_of_gp3(spec)]
    if wrong or spec.root_volume_iops is None:
        return
    needed = IOPS_PER_MIB * spec.volume_mib_per_second
    if spec.root_volume_iops < needed:
        yield Problem(
            path=("root_volume_iops",),
            given=spec.root_volume_iops,
            allowed=f"{spec.volume_mib_per_second} MiB/s need {needed}: EBS gives 0.25 MiB/s for each",
            fix="omit it, or lower root_volume_mib_per_second",
            related=(("root_volume_mib_per_second",),),
        )


def fast_image_pull_is_a_flag(spec: GpuNodeGroupSpec) -> Problems:
    """Reject non-bools."""
    yield from valid_flag("fast_image_pull", spec.fast_image_pull)


def fast_image_pull_has_a_fast_disk(spec: GpuNodeGroupSpec) -> Problems:
    """Reject a root volume on which the parallel pull is slower than the ordinary one."""
    if spec.fast_image_pull is not True or list(root_volume_throughput_is_one_of_gp3(spec)):
        return
    if not spec.instance.local_nvme_gb and spec.volume_mib_per_second < IMAGES_MIB_PER_SECOND:
        yield Problem(
            path=("root_volume_mib_per_second",),
            given=spec.root_volume_mib_per_second,
            allowed=f"fast_image_pull needs {IMAGES_MIB_PER_SECOND}, below which pulls become slower with it",
            fix=f"give {IMAGES_MIB_PER_SECOND} or more, better 1000, or omit fast_image_pull",
            related=(("fast_image_pull",),),
        )


def ssm_is_a_flag(spec: GpuNodeGroupSpec) -> Problems:
    """Reject non-bools."""
    yield from valid_flag("ssm", spec.ssm)


def _has_sizes(spec: GpuNodeGroupSpec) -> bool:
    """Return whether the sizes can be compared: other rules judge each alone."""
    numbers = (min_size_is_a_number, desired_size_is_a_number, max_size_is_a_number)
    return not any(list(rule(spec)) for rule in numbers)


#: What `GpuNodeGroupSpec` applies, all at once.
RULES: tuple[Callable[[GpuNodeGroupSpec], Problems], ...] = (
    instance_type_has_gpus,
    min_size_is_a_number,
    desired_size_is_a_number,
    max_size_is_a_number,
    min_size_is_at_most_max_size,
    desired_size_is_in_range,
    capacity_type_is_known,
    reservation_is_an_id,
    spot_has_no_reservation,
    capacity_block_names_its_reservation,
    capacity_block_sells_the_type,
    capacity_block_is_large_enough,
    placement_group_is_a_flag,
    placement_group_goes_without_a_reservation,
    placement_group_takes_the_type,
    efa_is_a_flag,
    efa_is_on_the_type,
    ami_release_is_a_release,
    ami_release_has_a_date,
    ami_release_is_not_a_bad_one,
    ami_has_a_driver_for_the_gpu,
    root_volume_throughput_is_one_of_gp3,
    root_volume_iops_are_some_of_gp3,
    root_volume_iops_carry_the_throughput,
    fast_image_pull_is_a_flag,
    fast_image_pull_has_a_fast_disk,
    ssm_is_a_flag,
)
