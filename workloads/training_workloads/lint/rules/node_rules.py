"""Rules on the nodes that a pod selects: their types, their other labels, and what they have for its requests."""

import re
from collections.abc import Iterator
from decimal import Decimal
from difflib import get_close_matches
from typing import NamedTuple

from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.nodes import (
    ACCELERATOR_LABEL,
    CAPACITY_TYPE_LABEL,
    DISK_RESOURCE,
    EFA_RESOURCE,
    GPU_PRESENT_LABEL,
    GPU_RESOURCE,
    INSTANCE_TYPE_LABEL,
    KARPENTER_CAPACITY_TYPE_LABEL,
    vcpus_left_to_daemons,
)
from training_workloads.catalog.offers import is_offered
from training_workloads.catalog.sagemaker_types import SAGEMAKER_PREFIX, bare_type
from training_workloads.lint.node_types import (
    TYPE_LABELS,
    NodeSize,
    node_sizes,
    node_types,
    selected_labels,
    type_names,
)
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import GI, is_placeholder


@warning("The pod stays Pending, unless the device plugin divides GPUs (time-slicing) (derived)")
def devices_exceed_node(pods: PodGroup) -> Iterator[Found]:
    """More GPUs or EFA devices than any node of the pod's instance types has: the pod stays Pending for ever."""
    types = node_types(pods)
    for resource, most in _most_devices(pods):
        asked, holder = pods.total(resource), pods.holder(resource)
        if holder and asked > most:
            names = ", ".join(one.name for one in types)
            waits = "and the pod stays Pending unless a plugin divides them"
            problem = f"the {pods.role} requests {asked}, but {names} has {most}, {waits}"
            fix = f"request {most} or fewer" if most else "remove it"
            yield Found(holder.place(resource), problem, f"{fix}, or choose another type")
            # A wrong type has too little of everything.
            return


def _most_devices(pods: PodGroup) -> list[tuple[str, int]]:
    """Return the most GPUs and EFA devices that a node of the pod's types has; none where one is unknown."""
    types = node_types(pods)
    if not types:
        return []
    gpus, efa = max(one.gpus for one in types), max(one.efa_interfaces for one in types)
    return [(GPU_RESOURCE, gpus), (EFA_RESOURCE, efa)]


@warning(
    "The pod stays Pending: the kernel and [the kubelet](https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/"
    "internal/kubelet/config.go) keep a part of the node"
)
def amounts_exceed_node(pods: PodGroup) -> Iterator[Found]:
    """More CPUs, memory or disk than a node of the pod's types leaves to pods: the pod stays Pending for ever.

    The disk is the array of the type's local disks, else a root volume of the size that this project gives its nodes.
    """
    sizes = node_sizes(pods)
    if not sizes or any(pods.total(resource) > most for resource, most in _most_devices(pods)):
        return
    names = ", ".join(one.name for one in sizes)
    for amount in _amounts(pods, sizes):
        holder = pods.holder(amount.resource)
        if holder and amount.asked > amount.most:
            problem = f"the {pods.role} requests {float(amount.asked):g} {amount.unit} but {names} has {amount.has}"
            left = f"{problem}, of which pods get {float(round(amount.most, 1)):g} at most: the pod stays Pending"
            unit = amount.unit.partition(",")[0]
            yield Found(
                holder.place(amount.resource), left, f"request {amount.fits} {unit} or less, or choose another type"
            )


class _Amount(NamedTuple):
    """The request of a pod, and what the largest node of its types has of the resource, leaves to pods, and suits."""

    resource: str
    asked: Decimal
    most: Decimal
    has: int | str
    unit: str
    fits: int


def _amounts(pods: PodGroup, sizes: list[NodeSize]) -> Iterator[_Amount]:
    cpus = max(sizes, key=lambda one: (one.cpus, one.memory_gib))
    yield _Amount("cpu", _requested(pods, "cpu"), cpus.cpus_for_pods, cpus.cpus, "CPUs", _cpus_that_fit(cpus))
    pages = _requested(pods, "hugepages-2Mi") + _requested(pods, "hugepages-1Gi")
    memory, most = (_requested(pods, "memory") + pages) / GI, max(one.memory_gib_for_pods for one in sizes)
    gib = max(one.memory_gib for one in sizes)
    yield _Amount("memory", memory, most, gib, "GiB, huge pages included," if pages else "GiB", int(gib * 0.93))
    disk = max(sizes, key=lambda one: one.disk_gib_for_pods)
    if all(one.disk for one in sizes):
        room = disk.disk_gib_for_pods
        asked = _requested(pods, DISK_RESOURCE) / GI
        yield _Amount(DISK_RESOURCE, asked, Decimal(room), disk.disk, "GiB of disk", room)


def _requested(pods: PodGroup, resource: str) -> Decimal:
    """Return the request of a pod: its containers together, or its largest init container."""
    inits = (one.amount(resource) or Decimal(0) for one in pods.all_containers if "initContainers" in one.path)
    return max(pods.total(resource), max(inits, default=Decimal(0)))


def _cpus_that_fit(size: NodeSize) -> int:
    known = INSTANCE_TYPES.get(size.name)
    return size.cpus - (vcpus_left_to_daemons(known) if known else 1)


_GPU_TYPES = [one.name for one in INSTANCE_TYPES.values() if one.gpus]
_FAMILIES = {name.partition(".")[0] for name in _GPU_TYPES}
# Of EC2's other families with accelerators; those of later generations are not known here.
_OTHER_FAMILIES = re.compile(r"p2|g2|g3s?|g4ad|g5g|g6f|gr6f?|p6e.*|[pg]([7-9]|\d\d).*")
_SIZE = re.compile(r"nano|micro|small|medium|large|\d*xlarge|metal(-\d+xl)?")
_CLOSE = 0.8


@error(
    "No node has such a label, and the pod stays Pending ([types]("
    "https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html))"
)
def instance_type_name(pods: PodGroup) -> Iterator[Found]:
    """An instance type that EC2 does not have."""
    for path, key, name in selected_labels(pods):
        if key in TYPE_LABELS and not is_placeholder(name, capitals=True) and (meant := _meant_type(name)) is not None:
            meant = "" if meant and INSTANCE_TYPES[meant].retired else meant
            prefix = SAGEMAKER_PREFIX if name.startswith(SAGEMAKER_PREFIX) else ""
            fix = f"write {prefix}{meant}" if meant else "write a type of EC2"
            yield Found(path, f"is {name}, which is no type of EC2: the pod stays Pending", fix)


@warning(
    "No node starts and the pod stays Pending, unless nodes of another provider have this label ("
    "[what EC2 offers](https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-regions.html))"
)
def retired_instance_type(pods: PodGroup) -> Iterator[Found]:
    """An instance type that AWS has retired, with no other type to choose from."""
    # Whether SageMaker, whose names begin with ml., still has such a type is not known.
    named = [(path, name, list(is_offered(name))) for path, name in type_names(pods)]
    if all(problems for _, _, problems in named):
        for path, name, (problem,) in named:
            yield Found(path, f"is {name}, but {problem.allowed}: the pod stays Pending", problem.fix)


def _meant_type(name: str) -> str | None:
    """Return the type that a wrong name means, empty where that is not clear; None where the name may be right."""
    bare = bare_type(name)
    family, dot, size = bare.partition(".")
    close = get_close_matches(bare.lower(), _GPU_TYPES, n=1, cutoff=_CLOSE)
    meant = close[0] if close else ""
    if bare in INSTANCE_TYPES or _OTHER_FAMILIES.fullmatch(family):
        return None
    if family in _FAMILIES:
        of_family = get_close_matches(bare, [one for one in _GPU_TYPES if one.startswith(f"{family}.")], cutoff=0)
        return next(iter(of_family), "")
    if re.match("[pgPG][0-9]", bare) and meant:
        return meant
    is_ec2 = re.fullmatch(r"[a-z]+\d[a-z0-9-]*", family) and dot
    return "" if is_ec2 and not _SIZE.fullmatch(size) else None


# Keys of labels that Kubernetes, EKS, Karpenter and the NVIDIA plugins give nodes. Most of these domains are reserved:
# other programs may not set them (https://kubernetes.io/docs/reference/labels-annotations-taints/).
_KEYS = (
    INSTANCE_TYPE_LABEL,
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.k8s.aws/zone-id",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "eks.amazonaws.com/nodegroup",
    "eks.amazonaws.com/nodegroup-image",
    *(f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3)),
    CAPACITY_TYPE_LABEL,
    KARPENTER_CAPACITY_TYPE_LABEL,
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    # https://karpenter.sh/docs/reference/instance-types/ ; EKS's Auto Mode has the same in its own domain.
    *(
        f"{domain}/instance-{name}"
        for domain in ("karpenter.k8s.aws", "eks.amazonaws.com")
        for name in (
            "family size category generation hypervisor cpu cpu-manufacturer cpu-sustained-clock-speed-mhz memory "
            "ebs-bandwidth network-bandwidth local-nvme encryption-in-transit-supported gpu-name gpu-count gpu-memory "
            "gpu-manufacturer accelerator-name accelerator-count accelerator-manufacturer capability-flex tenancy"
        ).split()
    ),
    # https://github.com/NVIDIA/k8s-device-plugin/blob/main/docs/gpu-feature-discovery/README.md
    *(
        f"nvidia.com/gpu.{name}"
        for name in "product count memory family machine mode replicas sharing-strategy clique present".split()
    ),
    *(f"nvidia.com/gpu.compute.{name}" for name in ("major", "minor")),
    GPU_PRESENT_LABEL,
    ACCELERATOR_LABEL,
)
_CLOSE_KEY = 0.9
_RESERVED = re.compile(r"(.*\.)?(kubernetes\.io|k8s\.io)/.*")
_TYPE_KEY = re.compile(r"(instance|node|machine)[-_.]?type")


@error(
    "No node has the label, and the pod stays Pending ([labels](https://kubernetes.io/docs/reference/labels-annotations-taints/))"
)
def node_label_key(pods: PodGroup) -> Iterator[Found]:
    """A key that is nearly that of a label of nodes, or an instance type under a key that no node has."""
    for path, key, value in selected_labels(pods):
        if key in _KEYS or is_placeholder(key):
            continue
        close = get_close_matches(key, _KEYS, n=1, cutoff=_CLOSE_KEY)
        last, is_type = key.rpartition("/")[2].lower(), bare_type(value) in INSTANCE_TYPES
        if is_type and _TYPE_KEY.fullmatch(last) and ("/" not in key or _RESERVED.fullmatch(key)):
            close = [INSTANCE_TYPE_LABEL]
        if close:
            where = path if "nodeSelector" in path else path[:-2]
            yield Found(where, f"selects nodes by {key}, a label that they do not have", f"write {close[0]}")


_VALUES = {
    "kubernetes.io/arch": ("amd64", "arm64"),
    "kubernetes.io/os": ("linux", "windows"),
    CAPACITY_TYPE_LABEL: ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK"),
    KARPENTER_CAPACITY_TYPE_LABEL: ("on-demand", "spot", "reserved"),
    GPU_PRESENT_LABEL: ("true",),
}
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_FAMILY_KEYS = ("karpenter.k8s.aws/instance-family", "eks.amazonaws.com/instance-family")


def _is_no_family(value: str) -> bool:
    """Return whether a value is meant as a family of GPU instances, and is none."""
    looks_like_one = re.match("[pgPG][0-9]", value) and not is_placeholder(value)
    return bool(looks_like_one) and value not in _FAMILIES and not _OTHER_FAMILIES.fullmatch(value)


@error(
    "No node has the label's value, and the pod stays Pending ([EKS](https://docs.aws.amazon.com/eks/latest/userguide/"
    "managed-node-groups.html), [Karpenter](https://karpenter.sh/docs/concepts/nodepools/), "
    "[Kubernetes](https://kubernetes.io/docs/reference/labels-annotations-taints/))"
)
def node_label_value(pods: PodGroup) -> Iterator[Found]:
    """A value that the label of a node does not have."""
    for path, key, value in selected_labels(pods):
        allowed = _VALUES.get(key, (value,))
        if value not in allowed and not is_placeholder(value):
            yield Found(path, f"is {value}, a value that no node has", f"write {' or '.join(allowed)}")
        elif key in _FAMILY_KEYS and _is_no_family(value):
            close = get_close_matches(value.lower().partition(".")[0], sorted(_FAMILIES), n=2)
            fix = " or ".join(close) or "a family of EC2, such as p5"
            yield Found(path, f"is {value}, a family that EC2 does not have", f"write {fix}")
        elif key == "topology.kubernetes.io/zone" and _REGION.fullmatch(value):
            yield Found(path, f"is {value}, which is a region", f"write a zone, such as {value}a")


# Models as the labels write them: NVIDIA-H100-80GB-HBM3, Tesla-V100-SXM2-16GB, nvidia-tesla-a100.
_MODEL = re.compile(r"(?i)(?<![a-z0-9])(v100|t4|a10g|a100|l4|l40s|h100|h200|b200|b300)(?![a-z0-9])")
_MODEL_KEYS = ("nvidia.com/gpu.product", "karpenter.k8s.aws/instance-gpu-name", ACCELERATOR_LABEL)


@error("No node has both, and the pod stays Pending (derived)")
def contradicting_labels(pods: PodGroup) -> Iterator[Found]:
    """A label that no node of the pod's instance types has: another processor, another GPU."""
    types = node_types(pods)
    models = {one.gpu.model.lower() for one in types if one.gpu}
    for path, key, value in selected_labels(pods):
        # All types with GPUs in the catalog have x86 processors.
        if key in ("kubernetes.io/arch", "beta.kubernetes.io/arch") and value == "arm64" and models:
            yield Found(path, f"is arm64, but {types[0].name} has x86 processors", "write amd64")
        elif key in _MODEL_KEYS and models and (found := _MODEL.search(value)) and found[1].lower() not in models:
            problem = f"is {value}, but {types[0].name} has {types[0].gpu.model if types[0].gpu else ''} GPUs"
            yield Found(path, problem, "remove it, or choose another type")
