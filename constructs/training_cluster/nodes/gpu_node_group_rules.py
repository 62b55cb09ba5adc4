"""What a GPU node group may be: one function a rule, applied together by `GpuNodeGroupSpec`."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from aws_cdk import Token

from training_cluster.checks import ID_DIGITS, check_flag, check_string
from training_cluster.nodes.gpu_node_group_ami import AMI_RELEASE, driver_branches, has_date
from training_workloads import INSTANCE_TYPES, InputError, gpu_instance_type
from training_workloads.catalog.nodes import CapacityType
from training_workloads.validation import check_at_least, check_one_of, check_text

if TYPE_CHECKING:
    from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec

__all__ = ["RULES", "instance_type_is_a_name"]

# Those of https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
_CAPACITY_TYPES = get_args(CapacityType)

# The largest Capacity Block: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html
_LARGEST_CAPACITY_BLOCK = 64


def instance_type_is_a_name(spec: GpuNodeGroupSpec) -> None:
    """Neither a list nor an `ec2.InstanceType`."""
    check_string("instance_type", spec.instance_type, next(iter(INSTANCE_TYPES)))


def instance_type_has_gpus(spec: GpuNodeGroupSpec) -> None:
    """The type is in the catalog and has GPUs."""
    if isinstance(spec.instance_type, str):
        gpu_instance_type(spec.instance_type)


def min_size_is_a_number(spec: GpuNodeGroupSpec) -> None:
    """Zero or more."""
    check_at_least("min_size", spec.min_size, 0)


def desired_size_is_a_number(spec: GpuNodeGroupSpec) -> None:
    """Zero or more."""
    if spec.desired_size is not None:
        check_at_least("desired_size", spec.desired_size, 0)


def max_size_is_a_number(spec: GpuNodeGroupSpec) -> None:
    """EKS wants room for one node."""
    if spec.max_size is not None:
        check_at_least("max_size", spec.max_size, 1)


def min_size_is_at_most_max_size(spec: GpuNodeGroupSpec) -> None:
    """EKS refuses limits without anything between them."""
    if _has_sizes(spec) and spec.max_size is not None and spec.min_size > spec.max_size:
        raise InputError(
            f"'min_size' is {spec.min_size}, but max_size is {spec.max_size}; lower the one or raise the other"
        )


def desired_size_is_in_range(spec: GpuNodeGroupSpec) -> None:
    """EKS refuses a desired size outside the limits."""
    if not _has_sizes(spec) or spec.min_size > (spec.max_size or spec.min_size):
        return
    if spec.max_size is None and spec.desired < spec.min_size:
        raise InputError(
            f"'desired_size' is {spec.desired}, but min_size is {spec.min_size}; give {spec.min_size} or more"
        )
    if not spec.min_size <= spec.desired <= spec.maximum:
        raise InputError(
            f"'desired_size' is {spec.desired}; it must lie between min_size ({spec.min_size}) "
            f"and max_size ({spec.maximum})"
        )


def capacity_type_is_known(spec: GpuNodeGroupSpec) -> None:
    """One of those that EKS has, by its name and not as `eks.CapacityType`, which has other members."""
    check_string("capacity_type", spec.capacity_type, "SPOT")
    check_one_of("capacity_type", spec.capacity_type, _CAPACITY_TYPES)


def reservation_is_an_id(spec: GpuNodeGroupSpec) -> None:
    """An id of EC2, not a name or an ARN."""
    reservation = spec.capacity_reservation_id
    if reservation is not None and not Token.is_unresolved(reservation):
        check_text(
            "capacity_reservation_id",
            reservation,
            f"cr-{ID_DIGITS}",
            "the id of a Capacity Reservation, such as cr-0123456789abcdef0 (aws ec2 describe-capacity-reservations)",
        )


def spot_has_no_reservation(spec: GpuNodeGroupSpec) -> None:
    """Spot instances never run in a reservation."""
    if spec.capacity_type == "SPOT" and spec.capacity_reservation_id is not None:
        raise InputError(
            f"'capacity_reservation_id' is {spec.capacity_reservation_id!r}, but Spot instances cannot use a "
            "reservation; set capacity_type to ON_DEMAND, or to CAPACITY_BLOCK if it is one"
        )


def capacity_block_names_its_reservation(spec: GpuNodeGroupSpec) -> None:
    """EKS refuses a node group of this capacity type without the block's id."""
    if spec.capacity_type == "CAPACITY_BLOCK" and spec.capacity_reservation_id is None:
        raise InputError(
            "'capacity_reservation_id' is missing, and capacity_type CAPACITY_BLOCK needs it; give the id of the block "
            "that you bought (aws ec2 describe-capacity-reservations)"
        )


def capacity_block_sells_the_type(spec: GpuNodeGroupSpec) -> None:
    """Only some types are sold as Capacity Blocks."""
    if spec.capacity_type == "CAPACITY_BLOCK" and not spec.instance.capacity_block:
        raise InputError(
            f"'capacity_type' is CAPACITY_BLOCK, which EC2 does not sell for {spec.instance_type}; "
            "set it to ON_DEMAND or SPOT, or choose a type such as those of the p5 family"
        )


def capacity_block_is_large_enough(spec: GpuNodeGroupSpec) -> None:
    """No block has more than 64 instances."""
    too_large = _has_sizes(spec) and spec.maximum > _LARGEST_CAPACITY_BLOCK
    if spec.capacity_type == "CAPACITY_BLOCK" and too_large:
        raise InputError(
            f"'max_size' is {spec.maximum}, but a Capacity Block has at most {_LARGEST_CAPACITY_BLOCK} instances; "
            "lower it to the size of yours, or use a node group for each block"
        )


def placement_group_is_a_flag(spec: GpuNodeGroupSpec) -> None:
    """To Python 'no' is true."""
    if spec.placement_group is not None:
        check_flag("placement_group", spec.placement_group)


def placement_group_goes_without_a_reservation(spec: GpuNodeGroupSpec) -> None:
    """A new placement group can lie apart from the reserved hosts, so that some of them are never used."""
    if spec.placement_group is True and spec.capacity_reservation_id is not None:
        raise InputError(
            f"'placement_group' is true, but the reservation {spec.capacity_reservation_id} decides the placement and "
            "a new group may not reach all of its instances; leave placement_group out"
        )


def placement_group_takes_the_type(spec: GpuNodeGroupSpec) -> None:
    """Some types cannot be in a cluster placement group."""
    if spec.placement_group is True and not spec.instance.placement_group:
        raise InputError(
            f"'placement_group' is true, but {spec.instance_type} cannot be launched in a cluster placement group; "
            "leave placement_group out"
        )


def efa_is_a_flag(spec: GpuNodeGroupSpec) -> None:
    """To Python 'false' is true."""
    if spec.efa is not None:
        check_flag("efa", spec.efa)


def efa_is_on_the_type(spec: GpuNodeGroupSpec) -> None:
    """A launch template with an EFA on another type launches nothing."""
    if spec.efa is True and not spec.instance.efa_interfaces:
        raise InputError(
            f"'efa' is true, but {spec.instance_type} has no EFA; leave efa out, or choose a type that has it, "
            "such as the largest of its family"
        )


def ami_release_is_a_release(spec: GpuNodeGroupSpec) -> None:
    """EKS's own form: Kubernetes version, then date."""
    if spec.ami_release is not None:
        check_text("ami_release", spec.ami_release, AMI_RELEASE, "an AMI release of EKS, such as 1.35.0-20260917")


def ami_release_has_a_date(spec: GpuNodeGroupSpec) -> None:
    """A release is named after the day on which it was made."""
    if not has_date(spec.ami_release):
        raise InputError(
            f"'ami_release' is {spec.ami_release!r}, which ends with no date (year, month, day); give one of "
            "https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html"
        )


def ami_has_a_driver_for_the_gpu(spec: GpuNodeGroupSpec) -> None:
    """NVIDIA's newer driver branches drop old GPUs (Volta after 580), older ones do not know new GPUs."""
    gpu, branches = spec.instance.gpu, driver_branches(spec.ami_release)
    if gpu is None or not branches:
        return
    oldest, newest = gpu.oldest_driver_branch or 0, gpu.newest_driver_branch or max(branches)
    if not any(oldest <= branch <= newest for branch in branches):
        needed = f"{newest} or older" if min(branches) > newest else f"{oldest} or newer"
        raise InputError(
            f"'ami_release' is {spec.ami_release or 'the newest'}, whose NVIDIA drivers "
            f"({', '.join(map(str, branches))}) do not run the {gpu.model} of {spec.instance_type}, which needs branch "
            f"{needed}; pin an AMI release that has it, or choose another instance type"
        )


def _has_sizes(spec: GpuNodeGroupSpec) -> bool:
    """Whether the sizes can be compared at all: other rules judge each by itself."""
    try:
        for rule in (min_size_is_a_number, desired_size_is_a_number, max_size_is_a_number):
            rule(spec)
    except InputError:
        return False
    return True


RULES = (
    instance_type_is_a_name,
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
    ami_has_a_driver_for_the_gpu,
)
