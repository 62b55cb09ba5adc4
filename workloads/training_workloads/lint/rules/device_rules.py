"""Rules on GPUs and other devices: their names, and what gives or hides them besides the device plugin."""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from training_workloads.catalog.nodes import EFA_RESOURCE, GPU_RESOURCE, HUGEPAGES_RESOURCE
from training_workloads.lint.node_types import node_types
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.variables import exported_names, set_variables
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import amount_of, is_placeholder, mapping
from training_workloads.manifests.workload import WorkloadView

_KNOWN = (GPU_RESOURCE, EFA_RESOURCE, HUGEPAGES_RESOURCE, "hugepages-1Gi", "amd.com/gpu")
_CLOSE = 0.86
_AMOUNTS = ("limits", "requests")

# The device plugin's names for parts of GPUs, and those of Arm's huge pages.
_OTHER = re.compile(r"nvidia\.com/(mig-.*|.*\.shared|pgpu|vgpu)|hugepages-(64Ki|32Mi|512Mi|16Gi)")


@error(
    "No node has such a resource, and the pod stays Pending ([NVIDIA](https://github.com/NVIDIA/k8s-device-plugin), "
    "[EFA](https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin))"
)
def misspelled_resource(workload: WorkloadView) -> Iterator[Found]:
    """A name that is nearly that of the GPUs, the EFA devices or the huge pages."""
    for container in workload.containers:
        names: dict[str, str] = {}
        for kind in _AMOUNTS:
            names |= {name: kind for name in container.amounts(kind) if isinstance(name, str)}
        for name, kind in names.items():
            if meant := _meant(name):
                path = (*container.path, "resources", kind, name)
                yield Found(path, "no node has a resource of this name, and the pod stays Pending", f"write {meant}")


def _meant(name: str) -> str:
    # Names without a domain are rejected by the API server.
    is_qualified = "/" in name or name.startswith("hugepages-")
    if not is_qualified or name in _KNOWN or _OTHER.fullmatch(name) or is_placeholder(name):
        return ""
    # Removed with Kubernetes 1.11.
    if name == "alpha.kubernetes.io/nvidia-gpu":
        return GPU_RESOURCE
    domain, _, device = name.lower().rpartition("/")
    if "nvidia" in domain and device in ("gpu", "gpus"):
        return GPU_RESOURCE
    if re.search("aws|amazon", domain) and device in ("efa", "efas"):
        return EFA_RESOURCE
    return next(iter(get_close_matches(name, _KNOWN, n=1, cutoff=_CLOSE)), "")


@warning(
    "The device plugin gives GPUs to containers that request them "
    "([NVIDIA](https://github.com/NVIDIA/k8s-device-plugin)); where NVIDIA's runtime is the default, others see all "
    "GPUs of the node, those of other pods too"
)
def missing_gpus(workload: WorkloadView) -> Iterator[Found]:
    """Ranks on nodes with GPUs that request none."""
    # Of the other kinds some get their resources elsewhere, and some are no training.
    if workload.kind not in ("MPIJob", "PyTorchJob", "TFJob"):
        return
    for pods in workload.rank_groups:
        types = node_types(pods)
        if types and all(one.gpus for one in types) and not _may_have_gpus(pods):
            none = f"requests no {GPU_RESOURCE}, and the device plugin gives it no GPU"
            problem = f"{none}, though {types[0].name} has some"
            fix = f"add {GPU_RESOURCE}: {types[0].gpus} to its limits"
            yield Found((*pods.first.path, "resources"), problem, fix)


def _may_have_gpus(pods: PodGroup) -> bool:
    """Return whether pods request GPUs by any name, or get them without a request."""
    if pods.sees_devices_otherwise or _is_shared(pods):
        return True
    if any("NVIDIA_VISIBLE_DEVICES" in one.environment for one in pods.containers):
        return True
    amounts = [item for one in pods.containers for kind in _AMOUNTS for item in one.amounts(kind).items()]
    names = [str(name) for name, amount in amounts if amount_of(amount) != 0]
    return any(name.startswith("nvidia.com/") or "gpu" in name or _meant(name) for name in names)


# Annotations and labels by which schedulers such as KAI, run:ai and HAMi give a pod a part of a GPU.
_OF_SHARING = re.compile(r"(.*/)?gpu-(fraction|memory|fractions|num-devices).*|(.*\.)?(run\.ai|runai)/.*")


def _is_shared(pods: PodGroup) -> bool:
    """Return whether another scheduler or runtime class may give GPUs to pods that request none."""
    metadata = mapping(pods.template.get("metadata"))
    keys = (str(key) for field in ("annotations", "labels") for key in mapping(metadata.get(field)))
    return bool(pods.pod.get("runtimeClassName")) or any(map(_OF_SHARING.fullmatch, keys))


_DEVICES = "CUDA_VISIBLE_DEVICES"
_NUMBERS = re.compile(r"\d{1,3}(,\d{1,3})*,?")


@error(
    "All ranks of a pod get the same value, and find only these GPUs ([CUDA](https://docs.nvidia.com/cuda/"
    "cuda-c-programming-guide/index.html#env-vars))"
)
def hidden_gpus(workload: WorkloadView) -> Iterator[Found]:
    """`CUDA_VISIBLE_DEVICES` with fewer GPUs than the pod has."""
    gpus = max((int(pods.total(GPU_RESOURCE)) for pods in workload.rank_groups), default=0)
    for variable in set_variables(workload, (_DEVICES,)):
        value = variable.value.replace(" ", "")
        listed = [int(one) for one in value.split(",") if one] if _NUMBERS.fullmatch(value) else []
        is_empty = value in ("", "-1", "NoDevFiles")
        if not gpus or not variable.reaches_all or not _reaches_ranks(workload, variable.path):
            continue
        if is_empty or (listed and (len(listed) < gpus or (gpus == 1 and listed != [0]))):
            problem = f"sets {_DEVICES}={variable.value} for all ranks, but a pod has {gpus} GPUs"
            yield Found(variable.path, problem, "remove it: the device plugin shows a pod its own GPUs only")


def _reaches_ranks(workload: WorkloadView, path: tuple[str | int, ...]) -> bool:
    """Return whether a variable in `env` is that of ranks, or is given to them by mpirun."""
    holders = [one for pods in workload.rank_groups for one in pods.containers]
    if "env" not in path or any(path[: len(one.path)] == one.path for one in holders):
        return True
    others: list[Container] = [one for one in workload.containers if path[: len(one.path)] == one.path]
    return any(_DEVICES in exported_names(one) or "horovodrun" in one.argv[:1] for one in others)


_RUNTIME = "NVIDIA_VISIBLE_DEVICES"


@warning(
    "The container runtime follows it, not the device plugin ([NVIDIA](https://docs.nvidia.com/datacenter/cloud-native/"
    "container-toolkit/latest/docker-specialized.html#gpu-enumeration))"
)
def visible_devices_of_the_runtime(workload: WorkloadView) -> Iterator[Found]:
    """`NVIDIA_VISIBLE_DEVICES` with no GPU beside a request for some."""
    for pods in workload.rank_groups:
        for container in pods.containers:
            value, path = container.environment.get(_RUNTIME, (None, container.path))
            if not container.amount(GPU_RESOURCE) or not isinstance(value, str):
                continue
            if value in ("none", "void", ""):
                problem = f"sets {_RUNTIME}={value}, with which the container sees no GPU"
                yield Found(path, problem, "remove it: the device plugin sets it to the pod's own GPUs")


@warning("Other pods of the node have requested them ([NVIDIA](https://github.com/NVIDIA/k8s-device-plugin))")
def devices_of_the_node(workload: WorkloadView) -> Iterator[Found]:
    """A hostPath of /dev/infiniband or of the GPUs' devices, in a pod that requests a part of the node's."""
    volumes = ((pods, number, one) for pods in workload.groups for number, one in enumerate(pods.volumes))
    for pods, number, volume in volumes:
        host = str(mapping(volume.get("hostPath")).get("path"))
        plugin = EFA_RESOURCE if host.startswith("/dev/infiniband") else GPU_RESOURCE
        if re.match(r"/dev/(infiniband|nvidia)", host) and pods.total(plugin) and _leaves_devices(pods):
            problem = f"mounts {host} of the node beside the device plugin, with the devices of other pods"
            fix = f"remove it: a request for {plugin} gives a container its own devices"
            yield Found((*pods.pod_path, "volumes", number, "hostPath"), problem, fix)


def _leaves_devices(pods: PodGroup) -> bool:
    """Return whether other pods may have GPUs or EFA devices of the same node: that shows where its types are known."""
    types, gpus, efa = node_types(pods), pods.total(GPU_RESOURCE), pods.total(EFA_RESOURCE)
    return bool(types) and all(gpus < one.gpus or 0 < efa < one.efa_interfaces for one in types)
