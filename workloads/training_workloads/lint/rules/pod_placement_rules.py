"""Rules on where the pods of one job run: zones, the launcher's node, and what removes or surrounds the pods."""

from collections.abc import Iterator

from training_workloads.catalog.nodes import DO_NOT_DISRUPT, EFA_RESOURCE, GPU_RESOURCE, SAFE_TO_EVICT
from training_workloads.catalog.sagemaker_types import SAGEMAKER_PREFIX, bare_type
from training_workloads.lint.node_types import node_sizes, node_types, selected_labels, type_names
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import GI, is_placeholder, mapping, names_placeholder, sequence
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import Path

_ZONES = ("topology.kubernetes.io/zone", "topology.k8s.aws/zone-id", "failure-domain.beta.kubernetes.io/zone")


def _groups_with_efa(workload: WorkloadView) -> list[PodGroup]:
    """Return the groups of a job whose ranks exchange data over EFA; none for a single pod."""
    groups = [pods for pods in workload.rank_groups if pods.total(EFA_RESOURCE)]
    return groups if sum(pods.replicas or 1 for pods in groups) > 1 else []


@error(
    "EFA's data does not cross zones ([EFA](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html"
    "#efa-limits)), and the ranks do not reach each other"
)
def pods_across_zones(workload: WorkloadView) -> Iterator[Found]:
    """Ranks with EFA that are spread over zones, or select different ones."""
    groups = _groups_with_efa(workload)
    for pods in groups:
        if pods.replicas is None or pods.replicas > 1:
            for path in _spreads(pods):
                problem = "spreads the pods over zones, which EFA's data does not cross"
                yield Found(path, problem, "remove it, and select one zone with nodeSelector")
    first: dict[str, str] = {}
    for pods in groups:
        for path, key, value in selected_labels(pods):
            is_zone = key in _ZONES and not is_placeholder(value, capitals=True)
            if is_zone and "nodeSelector" in path and first.setdefault(key, value) != value:
                problem = f"is {value}, but other ranks run in {first[key]}, and EFA's data does not cross zones"
                yield Found(path, problem, f"write {first[key]} for all of them")


def _spreads(pods: PodGroup) -> Iterator[Path]:
    """Yield each place that requires the pods of a group to be in several zones; a preference has no effect in one."""
    for number, one in enumerate(map(mapping, sequence(pods.pod.get("topologySpreadConstraints")))):
        if one.get("topologyKey") in _ZONES and one.get("whenUnsatisfiable") != "ScheduleAnyway":
            yield (*pods.pod_path, "topologySpreadConstraints", number)
    anti = mapping(mapping(pods.pod.get("affinity")).get("podAntiAffinity"))
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    for number, term in enumerate(map(mapping, sequence(anti.get(field)))):
        if term.get("topologyKey") in _ZONES:
            yield (*pods.pod_path, "affinity", "podAntiAffinity", field, number)


@warning(
    "P4d's EFA does not reach other types ([EFA](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html"
    "#efa-limits)); others wait for the slowest"
)
def different_node_types(workload: WorkloadView) -> Iterator[Found]:
    """Ranks with EFA on different instance types."""
    first = ""
    for pods in _groups_with_efa(workload):
        names = {name for _, name in type_names(pods)}
        if len(names) != 1 or names_placeholder(*names):
            continue
        (name,) = names
        first = first or name
        if name != first:
            problem = f"is {name}, but other ranks run on {first}"
            yield Found(type_names(pods)[0][0], problem, "write one type for all ranks")


@warning(
    "Nodes of EKS have EC2's name, those of SageMaker HyperPod the one with `ml.` ([HyperPod]("
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks.html))"
)
def sagemaker_type(workload: WorkloadView) -> Iterator[Found]:
    """A type in SageMaker's spelling in a job with types of EC2, or beside labels that only EKS's nodes have."""
    named = [one for pods in workload.groups for one in type_names(pods)]
    mixed = any(not name.startswith(SAGEMAKER_PREFIX) for _, name in named)
    for pods in workload.groups:
        others = [key for _, key, _ in selected_labels(pods) if key.startswith(("eks.amazonaws.com/", "karpenter."))]
        for path, name in type_names(pods):
            if name.startswith(SAGEMAKER_PREFIX) and (mixed or others):
                beside = f"the label {others[0]}" if others else "types of EC2"
                problem = f"is {name}, as SageMaker HyperPod calls its nodes, beside {beside}"
                yield Found(path, problem, f"write {bare_type(name)}")


@error("The pods after the first find no devices, and stay Pending (derived)")
def pods_on_one_node(workload: WorkloadView) -> Iterator[Found]:
    """Pods that must all run on one node, which has not enough GPUs for them."""
    for pods in workload.rank_groups:
        most = max((one.gpus for one in node_types(pods)), default=_MOST_GPUS)
        if pods.total(GPU_RESOURCE) * (pods.replicas or 0) <= most:
            continue
        for path, cause in _together(pods):
            problem = f"{cause}, but {pods.replicas} pods with {pods.total(GPU_RESOURCE)} GPUs do not fit on one"
            yield Found(path, problem, "remove it")


# Of any node of EC2.
_MOST_GPUS = 16

_HOSTNAME = "kubernetes.io/hostname"


def _together(pods: PodGroup) -> Iterator[tuple[Path, str]]:
    """Yield each place that puts all pods of a group on one node."""
    if isinstance(pods.pod.get("nodeName"), str):
        yield (*pods.pod_path, "nodeName"), "names the node of all pods"
    for path, key, _ in selected_labels(pods):
        if key == _HOSTNAME and "nodeSelector" in path:
            yield path, "selects one node for all pods"
    affinity = mapping(mapping(pods.pod.get("affinity")).get("podAffinity"))
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    for number, term in enumerate(map(mapping, sequence(affinity.get(field)))):
        if term.get("topologyKey") == _HOSTNAME:
            yield (*pods.pod_path, "affinity", "podAffinity", field, number), "puts all pods on one node"


@warning("The ranks need them; without a rank nothing uses them (derived)")
def launcher_holds_efa(workload: WorkloadView) -> Iterator[Found]:
    """EFA devices of a launcher without ranks."""
    ranks = list(workload.rank_groups)
    for pods in workload.groups:
        holder = pods.holder(EFA_RESOURCE)
        if ranks and pods not in ranks and holder:
            problem = f"the {pods.role} holds no ranks, and nothing uses its EFA devices"
            yield Found(holder.place(EFA_RESOURCE), problem, "remove them from its requests and limits")


# Karpenter's annotation before its v1 (https://karpenter.sh/docs/upgrading/v1-migration/).
_DO_NOT_EVICT = "karpenter.sh/do-not-evict"


@warning(
    "Karpenter and the Cluster Autoscaler read annotations of pods ([Karpenter](https://karpenter.sh/docs/concepts/"
    "disruption/)), v1 of Karpenter only the new one ([migration](https://karpenter.sh/docs/upgrading/v1-migration/))"
)
def eviction_annotation(workload: WorkloadView) -> Iterator[Found]:
    """An annotation against eviction that is not read: Karpenter's old one, or one of the job instead of its pods."""
    of_job = mapping(workload.metadata.get("annotations"))
    of_pods = [pods.annotations for pods in workload.rank_groups]
    # The pods of a TrainJob get its annotations from the runtime.
    are_copied = workload.kind == "TrainJob"
    for name, against in ((DO_NOT_DISRUPT, "true"), (SAFE_TO_EVICT, "false")):
        is_lost = of_pods and not are_copied and not any(name in one for one in of_pods)
        if is_lost and str(of_job.get(name)).lower() == against:
            problem = "is an annotation of the job, which its pods do not get"
            yield Found(("metadata", "annotations", name), problem, "write it into the pods' templates")
    for pods in workload.groups:
        path = (*pods.template_path, "metadata", "annotations", _DO_NOT_EVICT)
        if _DO_NOT_EVICT in pods.annotations and DO_NOT_DISRUPT not in pods.annotations:
            problem = "is not read by Karpenter since v1: it may remove the node while the job runs"
            yield Found(path, problem, f'write {DO_NOT_DISRUPT}: "true"')


@warning("A GPU node is started for it alone (derived)")
def launcher_on_gpu_node(workload: WorkloadView) -> Iterator[Found]:
    """A launcher without ranks that selects nodes with GPUs, of which none has room beside the ranks."""
    ranks = list(workload.rank_groups)
    for pods in workload.groups:
        types = node_types(pods)
        if pods in ranks or not ranks or pods.total(GPU_RESOURCE) or not types or not all(one.gpus for one in types):
            continue
        if any(_may_share(pods, one) for one in ranks):
            continue
        problem = f"is {types[0].name}, a node with GPUs for the {pods.role} alone, which holds no ranks"
        yield Found(type_names(pods)[0][0], problem, "select nodes without GPUs for it")


def _may_share(pods: PodGroup, ranks: PodGroup) -> bool:
    """Return whether a pod may run on a node beside one with ranks: its types and their room do not exclude it."""
    types, common = {one.name for one in node_types(pods)}, {one.name for one in node_types(ranks)}
    sizes = [one for one in node_sizes(ranks) if one.name in types]
    if not common:
        return True
    cpus, memory = (pods.total(name) + ranks.total(name) for name in ("cpu", "memory"))
    fits = [one for one in sizes if cpus <= one.cpus_for_pods and memory <= one.memory_gib_for_pods * GI]
    return bool(types & common) and (bool(fits) or not sizes)
