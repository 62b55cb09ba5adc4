"""The nodes that a pod can run on: the labels that it selects, their instance types, and what these leave to pods."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from training_workloads.catalog import INSTANCE_TYPES, InstanceType
from training_workloads.catalog.nodes import INSTANCE_TYPE_LABEL, disk_gib, disk_gib_for_pods
from training_workloads.catalog.sagemaker_types import bare_type
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, sequence
from training_workloads.validation import Path

__all__ = ["TYPE_LABELS", "NodeSize", "node_sizes", "node_types", "selected_labels", "type_names"]

#: Labels with EC2's name of a node's type.
TYPE_LABELS = (INSTANCE_TYPE_LABEL, "beta.kubernetes.io/instance-type")

_REQUIRED = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def selected_labels(pods: PodGroup) -> Iterator[tuple[Path, str, str]]:
    """Yield each label of a node that a pod selects, with its path, key and value."""
    for key, value in mapping(pods.pod.get("nodeSelector")).items():
        if isinstance(key, str) and isinstance(value, str):
            yield (*pods.pod_path, "nodeSelector", key), key, value
    for path, expression in _expressions(pods):
        key, values = expression.get("key"), sequence(expression.get("values"))
        for number, value in enumerate(values):
            if isinstance(key, str) and isinstance(value, str) and expression.get("operator") == "In":
                yield (*path, "values", number), key, value


def _terms(pods: PodGroup) -> list[object]:
    node_affinity = mapping(mapping(pods.pod.get("affinity")).get("nodeAffinity"))
    return sequence(mapping(node_affinity.get(_REQUIRED[2])).get(_REQUIRED[3]))


def _expressions(pods: PodGroup) -> Iterator[tuple[Path, dict[object, object]]]:
    for term, content in enumerate(_terms(pods)):
        for number, expression in enumerate(sequence(mapping(content).get("matchExpressions"))):
            path = (*pods.pod_path, *_REQUIRED, term, "matchExpressions", number)
            yield path, dict(mapping(expression))


def type_names(pods: PodGroup) -> list[tuple[Path, str]]:
    """Return the instance types that a pod names, each with its path; none where another type is allowed too."""
    named = [(path, value) for path, key, value in selected_labels(pods) if key in TYPE_LABELS]
    # A term without the label allows every type, unless the selector names one.
    with_label = {path[len(pods.pod_path) + len(_REQUIRED)] for path, _ in named if "affinity" in path}
    is_open = len(with_label) < len(_terms(pods)) and not any("nodeSelector" in path for path, _ in named)
    return [] if is_open else named


def node_types(pods: PodGroup) -> list[InstanceType]:
    """Return the catalog's records of a pod's node types; none where one of them is unknown."""
    names = [bare_type(name) for _, name in type_names(pods)]
    known = [INSTANCE_TYPES[name] for name in names if name in INSTANCE_TYPES]
    return known if len(known) == len(names) else []


class NodeSize(NamedTuple):
    """The size of a node of a type, and the part that it leaves to pods at most.

    Attributes:
        name: The type.
        cpus: CPUs that it has.
        memory_gib: Memory that it has.
        disk: What holds the files of its pods, with its size in GiB; empty where that is not known.
        disk_gib_for_pods: Disk space that pods can request.
        cpus_for_pods: CPUs without the kubelet's.
        memory_gib_for_pods: Memory without the kernel's and the kubelet's.
    """

    name: str
    cpus: int
    memory_gib: int
    disk: str = ""
    disk_gib_for_pods: int = 0

    @property
    def cpus_for_pods(self) -> Decimal:
        """EKS reserves 6 % of the first core, 1 % of the next, 0.5 % of two more and 0.25 % of each other.

        https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go
        """
        shares = [60, 10, 5, 5]
        reserved = sum(shares[: self.cpus]) + Decimal(5) / 2 * max(0, self.cpus - len(shares))
        return self.cpus - reserved / 1000

    @property
    def memory_gib_for_pods(self) -> Decimal:
        """The kernel keeps 64 bytes for each page of 4 KiB, EKS 255 MiB and 11 for each pod, the kubelet 100 MiB.

        The 11 are counted for the 8 pods that the smallest nodes can run. As `cpus_for_pods`, and
        https://docs.kernel.org/mm/vmemmap_dedup.html .
        """
        return self.memory_gib * Decimal(63) / 64 - Decimal(255 + 11 * 8 + 100) / 1024


_SIZES = {"large": 2, "xlarge": 4}

# GiB for each vCPU of the general, compute and memory families, from their fifth generation on. Families with a letter
# for another ratio (such as C5n, M5zn, R7iz, and the X families) are left out.
# https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
_MEMORY_PER_CPU = {"m": 4, "c": 2, "r": 8}
_ORDINARY = re.compile(r"(?P<kind>[mcr])[5-9](a|i|g|d|ad|id|gd)?\.((?P<times>\d+)?(?P<size>xlarge|large))")


def node_sizes(pods: PodGroup) -> list[NodeSize]:
    """Return the sizes of the nodes of a pod's types; none where one of them is unknown."""
    names = [bare_type(name) for _, name in type_names(pods)]
    sizes = [size for name in names if (size := _size(name))]
    return sizes if len(sizes) == len(names) else []


def _size(name: str) -> NodeSize | None:
    if one := INSTANCE_TYPES.get(name):
        disk = f"{'local disks' if one.local_nvme_gb else 'a root volume'} of {disk_gib(one)}"
        return NodeSize(name, one.vcpus, one.memory_gib, disk, disk_gib_for_pods(one))
    if not (matched := _ORDINARY.fullmatch(name)):
        return None
    cpus = _SIZES[matched["size"]] * int(matched["times"] or 1)
    return NodeSize(name, cpus, cpus * _MEMORY_PER_CPU[matched["kind"]])
