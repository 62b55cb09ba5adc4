"""Jobs compared with the GPU node groups of `cluster.yaml`: one without a node there stays Pending for ever.

The cluster may be another one, so this is a warning. What `-c` overrides, and node groups in Python, are not seen.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from training_workloads.catalog.instances import gpu_instance_type, supported_gpu_type
from training_workloads.catalog.nodes import CAPACITY_TYPE_LABEL, GPU_RESOURCE, NODE_GROUP_LABEL
from training_workloads.lint.node_types import TYPE_LABELS, selected_labels
from training_workloads.lint.run_rules import pod_groups
from training_workloads.manifests.documents import Document
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, sequence
from training_workloads.validation import InputError
from training_workloads.yaml_lines import read_yaml

__all__ = ["CLUSTER_FILE", "NodeGroup", "misfit", "misfits", "node_groups", "noted"]

#: As `app.py` and `trainctl init` name it; other tools have files of this name, too.
CLUSTER_FILE: Final = "cluster.yaml"

_ZONE_LABEL = "topology.kubernetes.io/zone"
_ON_DEMAND = "ON_DEMAND"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeGroup:
    """A GPU node group, as far as jobs select it.

    Attributes:
        name: Its name.
        instance_type: EC2 type.
        max_size: Nodes at most.
        capacity_type: ON_DEMAND, SPOT or CAPACITY_BLOCK.
        zone: Its zone; None where the file does not name it.
    """

    name: str
    instance_type: str
    max_size: int
    capacity_type: str
    zone: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Demand:
    """The nodes that a job's pods select: the allowed values of each label, and how many pods with how many GPUs."""

    labels: dict[str, set[str]]
    pods: int
    gpus: int


def node_groups(folder: Path = Path()) -> list[NodeGroup]:
    """Return the GPU node groups of `cluster.yaml`; none without the file, or where it is wrong.

    Whether the file is right is the question of `cdk synth`, which reports it.

    Args:
        folder: Where the file is. Default: the current folder.
    """
    try:
        documents = read_yaml((folder / CLUSTER_FILE).read_bytes())
    except (OSError, InputError):
        return []
    found = (group for each in documents for group in _groups(mapping(each.content)))
    return [group for group in found if not list(supported_gpu_type(group.instance_type))]


def _groups(content: Any) -> Iterator[NodeGroup]:
    zone = mapping(content.get("lustre")).get("availability_zone")
    zone = zone or next(iter(sequence(content.get("availability_zones"))), None)
    for name, each in mapping(content.get("node_groups")).items():
        given = mapping(each)
        own = given.get("availability_zone") or zone
        sizes = [given.get(key) for key in ("desired_size", "min_size")]
        smallest = next((size for size in sizes if isinstance(size, int)), 0)
        largest = given.get("max_size")
        yield NodeGroup(
            name=str(name),
            instance_type=str(given.get("instance_type")),
            max_size=largest if isinstance(largest, int) else max(smallest, 1),
            capacity_type=str(given.get("capacity_type") or _ON_DEMAND),
            zone=None if own is None else str(own),
        )


def misfits(documents: Iterable[Any], groups: Sequence[NodeGroup]) -> Iterator[str]:
    """Yield a sentence for each object whose pods find no node in some groups; none where there are no groups."""
    for content in map(mapping, documents if groups else ()):
        name = mapping(content.get("metadata")).get("name")
        for pods in pod_groups(content):
            if problem := _problem(_of_pods(pods), groups):
                yield f"{name}: {problem}"


def noted(read: Iterable[tuple[str, Sequence[Document]]]) -> Iterator[str]:
    """Yield the misfits of some files in the current folder's `cluster.yaml`, each with its file."""
    groups = node_groups()
    for file, documents in read:
        for problem in misfits([document.content for document in documents], groups):
            yield f"{file}: {problem}"


def misfit(spec: Any, groups: Sequence[NodeGroup]) -> str | None:
    """Return why a job finds no node in some groups; None if it does, or has no GPUs."""
    if not groups or not hasattr(spec, "instance_type"):
        return None
    labels = {TYPE_LABELS[0]: {spec.instance_type}}
    labels |= {label: {value} for label, value in spec.scheduling.node_selector().items()}
    pods: int = getattr(spec, "workers", None) or spec.nodes
    return _problem(_Demand(labels=labels, pods=pods, gpus=spec.resources.gpus), groups)


def _of_pods(pods: PodGroup) -> _Demand:
    labels: dict[str, set[str]] = {}
    for _, key, value in selected_labels(pods):
        labels.setdefault(TYPE_LABELS[0] if key in TYPE_LABELS else key, set()).add(value)
    return _Demand(labels=labels, pods=pods.replicas or 1, gpus=int(pods.total(GPU_RESOURCE) or 0))


#: The labels that are compared, what they are, and their value in a group; narrowed one after the other.
_COMPARED: Final[tuple[tuple[str, str, str, Callable[[NodeGroup], str | None]], ...]] = (
    (NODE_GROUP_LABEL, "node group", "--node-group", lambda group: group.name),
    (TYPE_LABELS[0], "instance type", "--instance-type", lambda group: group.instance_type),
    (CAPACITY_TYPE_LABEL, "capacity type", "--capacity-type", lambda group: group.capacity_type),
    (_ZONE_LABEL, "zone", "the zone", lambda group: group.zone),
)


def _problem(demand: _Demand, groups: Sequence[NodeGroup]) -> str | None:
    # A pod without GPUs runs on other nodes.
    if not demand.gpus:
        return None
    fitting = list(groups)
    for label, what, option, value_of in _COMPARED:
        wanted = demand.labels.get(label)
        kept = [group for group in fitting if wanted is None or value_of(group) in (None, *wanted)]
        if wanted and not kept:
            existing = ", ".join(sorted({str(value_of(group)) for group in fitting}))
            given = " or ".join(sorted(wanted))
            change = f"'{option}'" if option.startswith("--") else option
            return (
                f"no node for it in {CLUSTER_FILE}, whose {what} is {existing}, not {given}; change {change} of the "
                f"job, or {CLUSTER_FILE}"
            )
        fitting = kept
    return _too_many(demand, fitting)


def _too_many(demand: _Demand, groups: Sequence[NodeGroup]) -> str | None:
    room = 0
    for group in groups:
        room += group.max_size * (gpu_instance_type(group.instance_type).gpus // demand.gpus)
    if demand.pods <= room:
        return None
    names = " and ".join(f"{group.name} ({group.max_size})" for group in groups)
    return (
        f"{demand.pods} workers with {demand.gpus} GPU{'s' * (demand.gpus > 1)} each, but {CLUSTER_FILE} has room for "
        f"{room}, by the 'max_size' of {names}; lower '--workers', or raise 'max_size'"
    )
