"""Rules on GPUs, EFA devices and huge pages: what is asked for, and what the node has."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from training_workloads.catalog import INSTANCE_TYPES, InstanceType
from training_workloads.catalog.nodes import (
    EFA_RESOURCE,
    GPU_RESOURCE,
    GPU_TAINT_KEY,
    HUGEPAGES_RESOURCE,
    INSTANCE_TYPE_LABEL,
)
from training_workloads.lint.finding import Found
from training_workloads.mpijob.view import GI, MI, Container, MpiJobView, Replica, amount_of, mapping, sequence

__all__ = [
    "amounts_exceed_node",
    "device_limits",
    "devices_exceed_node",
    "efa_left_unused",
    "efa_memory",
    "efa_without_hugepages",
    "hugepages_alone",
    "launcher_holds_gpus",
    "missing_gpu_toleration",
    "quantity",
    "slots_differ_from_gpus",
    "whole_devices",
]

_OLD_INSTANCE_TYPE_LABEL = "beta.kubernetes.io/instance-type"

# What NCCL's EFA plugin needs at least: below, "Invalid receiver QPN" hides an out-of-memory kill
# (https://github.com/aws-samples/awsome-distributed-training/issues/312).
_EFA_MEMORY = Decimal(32000 * MI)


def quantity(job: MpiJobView) -> Iterator[Found]:
    """A value that is not an amount, such as a placeholder that was not filled in."""
    for container in job.containers:
        for kind in ("requests", "limits"):
            for resource, amount in container.amounts(kind).items():
                if isinstance(amount, str | int | float) and amount_of(amount) is None:
                    path = (*container.path, "resources", kind, str(resource))
                    yield Found(path, f"is {amount!r}, which is not an amount", "give a number, or one such as 5120Mi")


def launcher_holds_gpus(job: MpiJobView) -> Iterator[Found]:
    """GPUs of the launcher, which the operator hides from it (`NVIDIA_VISIBLE_DEVICES=""`)."""
    holder = job.launcher.holder(GPU_RESOURCE)
    if holder and not job.launcher_holds_ranks:
        problem = f"the launcher requests {GPU_RESOURCE}: {holder.amount(GPU_RESOURCE)}, which nothing can use there"
        fix = "remove them, or set spec.runLauncherAsWorker: true so that ranks run there"
        yield Found(holder.place(GPU_RESOURCE), problem, fix)


def whole_devices(job: MpiJobView) -> Iterator[Found]:
    """A part of a device: the API server requires a whole number ("must be an integer")."""
    for container in job.containers:
        for kind in ("requests", "limits"):
            for resource, amount in container.amounts(kind).items():
                if _is_device(resource) and not _is_whole(amount_of(amount)):
                    path = (*container.path, "resources", kind, resource)
                    yield Found(path, f"is {amount}, and the pod is rejected", "give a whole number")


def _is_whole(amount: Decimal | None) -> bool:
    """Return whether an amount has no fraction; other values have none."""
    return amount is None or amount == amount.to_integral_value()


def device_limits(job: MpiJobView) -> Iterator[Found]:
    """Devices and huge pages cannot be overcommitted: the API server requires a limit, and the request equal to it.

    https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources
    """
    for container in job.containers:
        requests, limits = container.amounts("requests"), container.amounts("limits")
        for resource, amount in requests.items():
            if not _is_device(resource) or amount_of(amount) is None or not _is_whole(amount_of(amount)):
                continue
            limit = limits.get(resource)
            if limit is None or (amount_of(limit) not in (None, amount_of(amount))):
                given = "has no limit" if limit is None else f"has the limit {limit}"
                problem = f"is {amount} but {given}, and the pod is rejected"
                path = (*container.path, "resources", "requests", resource)
                yield Found(path, problem, f"write the same under limits: {resource}: {amount}")


def _is_device(resource: Any) -> bool:
    if not isinstance(resource, str):
        return False
    return resource.startswith("hugepages-") or ("/" in resource and "kubernetes.io/" not in resource)


def hugepages_alone(job: MpiJobView) -> Iterator[Found]:
    """Huge pages without cpu or memory: the API server rejects the pod ("HugePages require cpu or memory")."""
    for container in job.containers:
        named = {*container.amounts("requests"), *container.amounts("limits")}
        if any(str(name).startswith("hugepages-") for name in named) and not named & {"cpu", "memory"}:
            problem = "requests huge pages without cpu or memory, and the pod is rejected"
            yield Found((*container.path, "resources"), problem, "add memory to its requests and limits")


def _instance_types(replica: Replica) -> list[InstanceType]:
    """Return the catalog's records of a pod's node types; none where one of them is unknown."""
    selector = mapping(replica.pod.get("nodeSelector"))
    names = [selector[label] for label in (INSTANCE_TYPE_LABEL, _OLD_INSTANCE_TYPE_LABEL) if label in selector]
    affinity = mapping(mapping(replica.pod.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    for term in map(mapping, sequence(required.get("nodeSelectorTerms"))):
        listed = [
            expression.get("values")
            for expression in map(mapping, sequence(term.get("matchExpressions")))
            if expression.get("key") == INSTANCE_TYPE_LABEL and expression.get("operator") == "In"
        ]
        # A term without the label allows every type.
        names += sequence(listed[0]) if listed else [None]
    known = [INSTANCE_TYPES[name] for name in names if isinstance(name, str) and name in INSTANCE_TYPES]
    return known if len(known) == len(names) else []


def devices_exceed_node(job: MpiJobView) -> Iterator[Found]:
    """More GPUs or EFA devices than any node of the pod's instance types has: the pod stays Pending for ever."""
    for replica in job.replicas:
        types = _instance_types(replica)
        for resource, field in ((GPU_RESOURCE, "gpus"), (EFA_RESOURCE, "efa_interfaces")):
            asked, holder = replica.total(resource), replica.holder(resource)
            most = max((getattr(one, field) for one in types), default=None)
            if most is not None and holder and asked > most:
                names = ", ".join(one.name for one in types)
                waits = "and the pod stays Pending unless a plugin divides them"
                problem = f"the {replica.role} requests {asked}, but {names} has {most}, {waits}"
                fix = f"request {most} or fewer" if most else "remove it"
                yield Found(holder.place(resource), problem, f"{fix}, or choose another type")


def amounts_exceed_node(job: MpiJobView) -> Iterator[Found]:
    """More CPUs or memory than any node of the pod's instance types has: the pod stays Pending for ever."""
    for replica in job.replicas:
        types = _instance_types(replica)
        for resource, field, unit, size in (("cpu", "vcpus", "CPUs", 1), ("memory", "memory_gib", "GiB", GI)):
            asked, holder = replica.total(resource), replica.holder(resource)
            most = max((getattr(one, field) for one in types), default=None)
            if most is not None and holder and asked > most * size:
                names = ", ".join(one.name for one in types)
                problem = f"the {replica.role} requests {float(asked / size):g} {unit}, but {names} has {most}"
                fix = f"request less than {most} {unit}, or choose another type"
                yield Found(holder.place(resource), f"{problem}, and the pod stays Pending", fix)


def efa_left_unused(job: MpiJobView) -> Iterator[Found]:
    """Workers on nodes with EFA that do not request it: NCCL falls back to TCP without a warning."""
    worker = job.worker
    gpus, types = worker.total(GPU_RESOURCE), _instance_types(worker)
    asked = any(EFA_RESOURCE in one.amounts(kind) for one in worker.containers for kind in ("requests", "limits"))
    if not gpus or asked or (worker.replicas or 0) + job.launcher_holds_ranks < 2:
        return
    # TCP on purpose, or devices by another way.
    on_purpose = any(value == "Socket" for _, value in job.settings("NCCL_NET"))
    if on_purpose or worker.sees_devices_otherwise:
        return
    # A worker with a small part of the GPUs may have less than one device as its share.
    shares = [int(one.efa_interfaces * gpus / one.gpus) if one.gpus else 0 for one in types]
    if shares and min(shares) >= 1:
        holder = worker.holder(GPU_RESOURCE) or worker.first
        problem = f"requests no {EFA_RESOURCE}, though {types[0].name} has EFA: the ranks exchange data over TCP"
        fix = f"add {EFA_RESOURCE}: {min(shares)} to requests and limits where the nodes have EFA interfaces"
        yield Found((*holder.path, "resources"), problem, fix)


def missing_gpu_toleration(job: MpiJobView) -> Iterator[Found]:
    """A pod with GPUs that does not tolerate the taint of GPU nodes: it stays Pending where they have it."""
    for replica in job.replicas:
        tolerations = map(mapping, sequence(replica.pod.get("tolerations")))
        tolerated = any(_tolerates_gpu_nodes(toleration) for toleration in tolerations)
        if replica.total(GPU_RESOURCE) and not tolerated:
            problem = f"has no toleration of {GPU_TAINT_KEY}, the taint that keeps other pods off GPU nodes"
            fix = f"add {{key: {GPU_TAINT_KEY}, operator: Exists, effect: NoSchedule}}"
            yield Found((*replica.pod_path, "tolerations"), problem, fix)


def _tolerates_gpu_nodes(toleration: Any) -> bool:
    key = toleration.get("key")
    return key == GPU_TAINT_KEY or (key in (None, "") and toleration.get("operator") == "Exists")


def slots_differ_from_gpus(job: MpiJobView) -> Iterator[Found]:
    """Slots that are not the GPUs of a worker: ranks share GPUs, or GPUs stay idle."""
    gpus = job.worker.total(GPU_RESOURCE)
    if gpus and _is_whole(gpus) and job.slots is not None and job.slots > 0 and job.slots != gpus:
        given = "is missing, and its default is 1" if job.spec.get("slotsPerWorker") is None else f"is {job.slots}"
        problem = f"{given}, but each worker has {gpus} GPUs"
        yield Found(("spec", "slotsPerWorker"), problem, f"write slotsPerWorker: {gpus}, one rank for each GPU")


def _efa_holders(job: MpiJobView) -> Iterator[Container]:
    return (container for container in job.containers if container.amount(EFA_RESOURCE))


def efa_without_hugepages(job: MpiJobView) -> Iterator[Found]:
    """EFA without the 2 MiB pages that libfabric takes its bounce buffers from.

    https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
    """
    settings = [container.environment.get("FI_EFA_USE_HUGE_PAGE", ("",))[0] for container in job.containers]
    settings += [launch.exported.get("FI_EFA_USE_HUGE_PAGE") for launch in job.launches]
    for container in _efa_holders(job):
        named = {*container.amounts("requests"), *container.amounts("limits")}
        if HUGEPAGES_RESOURCE not in named and "0" not in settings:
            problem = f"requests EFA devices but no {HUGEPAGES_RESOURCE}, from which libfabric takes its buffers"
            fix = f"add {HUGEPAGES_RESOURCE}: 5120Mi to requests and limits, or set FI_EFA_USE_HUGE_PAGE=0"
            yield Found((*container.path, "resources"), problem, fix)


def efa_memory(job: MpiJobView) -> Iterator[Found]:
    """Little memory with EFA: the kernel kills NCCL, and the log shows a network error."""
    for container in _efa_holders(job):
        limit = amount_of(container.amounts("limits").get("memory"))
        if limit is not None and limit < _EFA_MEMORY:
            given = container.amounts("limits").get("memory")
            problem = f"is {given}; NCCL with EFA runs out of it, which looks like a network error"
            yield Found((*container.path, "resources", "limits", "memory"), problem, "give 32000Mi or more")
