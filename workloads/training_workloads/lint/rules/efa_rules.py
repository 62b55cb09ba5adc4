"""Rules on EFA: requested where it is there and where it is configured, as many devices as the GPUs need, in use."""

from collections.abc import Iterator
from decimal import Decimal

from training_workloads.catalog.nodes import EFA_RESOURCE, GPU_RESOURCE, HUGEPAGES_RESOURCE
from training_workloads.lint.node_types import node_types
from training_workloads.lint.purpose import only_inspects
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.rules.rendezvous_rules import addresses
from training_workloads.lint.variables import set_variables
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import MI, amount_of
from training_workloads.manifests.workload import WorkloadView

# An eighth of the 32000Mi that AWS's NCCL tests request for 8 GPUs, since 8 GB ended in an out-of-memory kill
# (https://github.com/awslabs/awsome-distributed-ai/issues/312).
_EFA_MEMORY_OF_A_GPU = Decimal(4000 * MI)

# Less is a mistake in the unit, which `memory_unit` reports.
_SMALLEST_MEMORY = Decimal(16 * MI)

# 5,128 pages of 2 MiB, which the EFA driver's installation reserves on a node
# (https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html).
_RESERVED_PAGES = Decimal(5128 * 2 * MI)

_LARGE_PAGES = "hugepages-1Gi"


@error(
    "The pods get no EFA device, and NCCL falls back to TCP without a warning "
    "([HyperPod](https://github.com/awslabs/ai-on-sagemaker-hyperpod/pull/134))"
)
def efa_not_requested(workload: WorkloadView) -> Iterator[Found]:
    """`FI_PROVIDER=efa` or `NCCL_NET=AWS Libfabric`, and ranks without `vpc.amazonaws.com/efa`."""
    variables = [one for one in set_variables(workload, ("FI_PROVIDER", "NCCL_NET")) if _is_efa(one.name, one.value)]
    # Pods that request nothing at all get their requests elsewhere, or have them under a wrong name.
    without = [pods for pods in workload.rank_groups if not _has_efa(pods) and _requests_anything(pods)]
    if not variables or not without:
        return
    if len(without) < len(workload.rank_groups):
        # Some pods request it: the others were forgotten.
        for pods in without:
            problem = f"requests no {EFA_RESOURCE}, but {variables[0].name}={variables[0].value} is set"
            fix = f"request it as the other pods of the job, or remove {variables[0].name}"
            yield Found((*(pods.holder(GPU_RESOURCE) or pods.first).path, "resources"), problem, fix)
        return
    one = next((one for one in variables if one.name == "FI_PROVIDER"), variables[0])
    problem = f"sets {one.name}={one.value}, but the pods of the ranks request no {EFA_RESOURCE}"
    yield Found(one.path, problem, f"add {EFA_RESOURCE} to their requests and limits, or remove {one.name}")


def _requests_anything(pods: PodGroup) -> bool:
    return any(container.resource_names for container in pods.containers)


def _is_efa(name: str, value: str) -> bool:
    return value == "efa" if name == "FI_PROVIDER" else value.lower() in _PLUGIN_NAMES


def _has_efa(pods: PodGroup) -> bool:
    """Return whether EFA devices are requested, with a number or a placeholder, or may be there without a request."""
    names = (name for one in pods.containers for name in one.resource_names)
    # A misspelled one is the mistake of another rule.
    named = any("efa" in name.lower() for name in names)
    return named or pods.sees_devices_otherwise


def _sends_data(workload: WorkloadView) -> bool:
    """Return whether several pods with GPUs exchange data, as far as their commands show."""
    groups = [pods for pods in workload.rank_groups if pods.total(GPU_RESOURCE)]
    return sum(pods.replicas or 1 for pods in groups) > 1 and not only_inspects(workload)


def _of_efa(workload: WorkloadView, variable: str) -> set[str]:
    return {one.value for one in set_variables(workload, (variable,))}


@warning("NCCL uses TCP without a warning ([HyperPod](https://github.com/aws/sagemaker-hyperpod-cli/issues/306))")
def efa_left_unused(workload: WorkloadView) -> Iterator[Found]:
    """Several GPU pods on instances of the P family with EFA that request none of it."""
    # Pods of a Job may work alone.
    if workload.kind in ("Job", "JobSet") and not any(True for _ in addresses(workload)):
        return
    insists = any(_is_efa(one.name, one.value) for one in set_variables(workload, ("FI_PROVIDER", "NCCL_NET")))
    if insists or not _sends_data(workload) or "Socket" in _of_efa(workload, "NCCL_NET"):
        return
    for pods in workload.rank_groups:
        if _has_efa(pods) or not pods.total(GPU_RESOURCE):
            continue
        types, share = node_types(pods), _share(pods)
        # Others send through memory with EFA too, and gain little.
        if share >= 1 and all(one.name.startswith("p") for one in types):
            holder = pods.holder(GPU_RESOURCE) or pods.first
            problem = f"requests no {EFA_RESOURCE}, though {types[0].name} has EFA: the ranks exchange data over TCP"
            fix = f"add {EFA_RESOURCE}: {share} to requests and limits where the nodes have EFA interfaces"
            yield Found((*holder.path, "resources"), problem, fix)


def _share(pods: PodGroup) -> int:
    """Return the EFA devices that belong to a pod's GPUs; 0 where its types are not known, or the share is not whole.

    A pod with a small part of the GPUs may have less than one device as its share.
    """
    gpus = pods.total(GPU_RESOURCE)
    parts = ((one, min(gpus, Decimal(one.gpus)) / one.gpus) for one in node_types(pods) if one.gpus)
    shares = [int(one.efa_interfaces * part) for one, part in parts]
    return min(shares, default=0)


@warning(
    "NCCL gets that part of the network's bandwidth ([devices of each "
    "type](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html))"
)
def efa_devices(workload: WorkloadView) -> Iterator[Found]:
    """Fewer EFA devices than belong to the GPUs of the pod."""
    if not _sends_data(workload):
        return
    for pods in workload.rank_groups:
        asked, share, holder = pods.total(EFA_RESOURCE), _share(pods), pods.holder(EFA_RESOURCE)
        if holder and 0 < asked < share:
            name, gpus = node_types(pods)[0].name, pods.total(GPU_RESOURCE)
            problem = f"is {asked}, but {name} has {share} EFA devices for {gpus} GPUs, and the others stay idle"
            yield Found(holder.place(EFA_RESOURCE), problem, f"write {EFA_RESOURCE}: {share} in requests and limits")


def _efa_holders(workload: WorkloadView) -> Iterator[Container]:
    """Yield the containers with EFA devices that NCCL uses."""
    if _sends_data(workload):
        yield from (one for one in workload.containers if one.amount(EFA_RESOURCE) and one.amount(GPU_RESOURCE))


@warning(
    "With the EFA driver a node reserves 5,128 pages of 2 MiB ([EKS](https://docs.aws.amazon.com/eks/latest/userguide/"
    "node-efa.html)), and the pod stays Pending for more"
)
def hugepages_of_the_node(workload: WorkloadView) -> Iterator[Found]:
    """More huge pages than the EFA driver's installation reserves on a node, or pages of another size."""
    for pods in workload.groups:
        asked, holder = pods.total(HUGEPAGES_RESOURCE), pods.holder(HUGEPAGES_RESOURCE)
        if holder and asked > _RESERVED_PAGES and pods.total(EFA_RESOURCE) and pods.total(GPU_RESOURCE):
            given = holder.amounts("limits").get(HUGEPAGES_RESOURCE) or holder.amounts("requests").get(
                HUGEPAGES_RESOURCE
            )
            problem = f"is {given}, but a node with EFA reserves 5128 pages, which are 10256Mi: the pod stays Pending"
            yield Found(holder.place(HUGEPAGES_RESOURCE), problem, f"write {HUGEPAGES_RESOURCE}: 5120Mi")
        # Unless someone has reserved pages of this size instead, in a launch template.
        large = pods.holder(_LARGE_PAGES)
        if large and not holder and pods.total(EFA_RESOURCE) and pods.total(GPU_RESOURCE):
            problem = "requests pages of 1 GiB, but a node with EFA reserves pages of 2 MiB: the pod stays Pending"
            yield Found(large.place(_LARGE_PAGES), problem, f"write {HUGEPAGES_RESOURCE}: 5120Mi")


@warning(
    'With 8 GB for 8 GPUs the kernel kills NCCL, and the log shows "Invalid receiver queue pair number" ([tests]('
    "https://github.com/awslabs/awsome-distributed-ai/issues/312)); since then AWS's manifest of these tests requests "
    "32000Mi, which are 4000Mi for each GPU"
)
def efa_memory(workload: WorkloadView) -> Iterator[Found]:
    """EFA devices and a memory limit below 4000Mi for each GPU."""
    for container in _efa_holders(workload):
        limit = amount_of(container.amounts("limits").get("memory"))
        gpus = container.amount(GPU_RESOURCE) or Decimal(1)
        if limit is not None and _SMALLEST_MEMORY <= limit < _EFA_MEMORY_OF_A_GPU * gpus:
            given = container.amounts("limits").get("memory")
            problem = f"is {given}; NCCL with EFA runs out of it, which looks like a network error"
            fix = f"give {4000 * gpus:.0f}Mi or more"
            yield Found((*container.path, "resources", "limits", "memory"), problem, fix)


# Names of the plugin's network (https://github.com/aws/aws-ofi-nccl/pull/530); up to 1.11 only the first one.
_PLUGIN_NAMES = ("aws libfabric", "libfabric", "ofi")

# Networks that NCCL itself has.
_INTERNAL_NETWORKS = ("socket", "ib")


def _off(name: str, value: str) -> str:
    """Return the effect of a variable on EFA; empty where EFA stays on."""
    if name == "FI_PROVIDER":
        names, excludes = value.lower().lstrip("^").split(";")[0].split(","), value.startswith("^")
        is_on = ("efa" in names) is not excludes or not value
        return "" if is_on else "and libfabric does not use them"
    if name == "NCCL_NET":
        return "and NCCL does not use them" if value.lower() in _INTERNAL_NETWORKS else ""
    return "and NCCL loads no plugin for them" if value.lower() == "none" else ""


@warning(
    "The data goes over TCP ([libfabric](https://ofiwg.github.io/libfabric/main/man/fabric.7.html), "
    "[NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net))"
)
def efa_turned_off(workload: WorkloadView) -> Iterator[Found]:
    """EFA devices, and a variable with which NCCL does not use them."""
    if not any(pods.total(EFA_RESOURCE) for pods in workload.rank_groups):
        return
    for one in set_variables(workload, ("FI_PROVIDER", "NCCL_NET", "NCCL_NET_PLUGIN")):
        if effect := _off(one.name, one.value):
            right = {"FI_PROVIDER": "efa", "NCCL_NET": "AWS Libfabric"}.get(one.name)
            problem = f"sets {one.name}={one.value}, but the pods have EFA devices, {effect}"
            yield Found(one.path, problem, f"write {one.name}={right}" if right else "remove it")


@error("NCCL ends with an error where no network has the name ([plugin](https://github.com/aws/aws-ofi-nccl/pull/530))")
def nccl_net_name(workload: WorkloadView) -> Iterator[Found]:
    """A name of NCCL's network that the EFA plugin does not have."""
    if not any(pods.total(EFA_RESOURCE) for pods in workload.rank_groups):
        return
    for one in set_variables(workload, ("NCCL_NET",)):
        if one.value and one.value.lower() not in (*_PLUGIN_NAMES, *_INTERNAL_NETWORKS):
            problem = f"sets NCCL_NET={one.value}, but the EFA plugin is called AWS Libfabric"
            yield Found(one.path, problem, "write NCCL_NET=AWS Libfabric, or remove it")


@warning(
    "It breaks EFA on newer kernels ([cheat "
    "sheet](https://github.com/aws-samples/awsome-distributed-training/blob/main/1.architectures/efa-cheatsheet.md))"
)
def fork_safe_variable(workload: WorkloadView) -> Iterator[Found]:
    """A variable of rdma-core that breaks EFA on newer kernels."""
    if not any(pods.total(EFA_RESOURCE) for pods in workload.rank_groups):
        return
    for one in set_variables(workload, ("RDMAV_FORK_SAFE",)):
        problem = f"sets RDMAV_FORK_SAFE={one.value}, which can break EFA on newer kernels"
        yield Found(one.path, problem, "remove it: those kernels fork safely without it")
