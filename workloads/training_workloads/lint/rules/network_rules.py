"""Rules on the network interfaces that pods have, the node's network, and the names of pods."""

import re
from collections.abc import Iterator

from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.rules.rendezvous_rules import addresses
from training_workloads.lint.variables import Variable, set_variables
from training_workloads.manifests.interfaces import (
    INTERFACE_VARIABLES,
    LOOPBACK,
    NCCL_INTERFACES,
    POD_INTERFACE,
    names_interface,
)
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.sshd_command import SSHD, sshd_of, worker_commands
from training_workloads.mpijob.view import MpiJobView

# Options of mpirun and horovodrun with interfaces.
_OPTION = re.compile(
    r"(?:-?-(?:p|g)?(?:mca|prtemca) +(?P<mca>btl_tcp_if_include|oob_tcp_if_include|prte_if_include) +"
    r"|(?P<flag>--network-interfaces?)[ =])(?P<value>[^\s;&|]+)"
)

# Names of interfaces of nodes, InfiniBand, bridges and EFA; other names may be those of a second network.
_OF_A_NODE = re.compile(r"(en|eth|ib|bond|em\d|mlx|docker|br-|rdma|efa)")

# Networks besides the pod's own: Multus, the VPC CNI's second card, GKE.
_OF_PLUGINS = re.compile(r"rdma/|.*(sriov|infiniband|mellanox|hca|roce)", re.IGNORECASE)
_MORE_NETWORKS = ("k8s.v1.cni.cncf.io/networks", "k8s.amazonaws.com/nicConfig", "networking.gke.io/interfaces")


def _interfaces(workload: WorkloadView) -> Iterator[Variable]:
    """Yield each place that names interfaces: variables, and options of mpirun and horovodrun."""
    yield from set_variables(workload, INTERFACE_VARIABLES)
    for container in workload.containers:
        for matched in _OPTION.finditer(" ".join(container.argv)):
            name, value = matched["mca"] or matched["flag"], matched["value"].strip("\"'")
            if not is_placeholder(value, capitals=True):
                yield Variable(name, value, container.argv_path(name), True)


def _on_the_node(workload: WorkloadView) -> bool:
    return any(pods.pod.get("hostNetwork") is True for pods in workload.rank_groups)


def _has_more_networks(pods: PodGroup) -> bool:
    annotations = pods.annotations
    requested = (name for one in pods.containers for name in one.resource_names)
    is_given = any(name in annotations for name in _MORE_NETWORKS) or any(map(_OF_PLUGINS.match, requested))
    return is_given or bool(pods.pod.get("resourceClaims"))


def _written(variable: Variable) -> str:
    between = "=" if variable.name in INTERFACE_VARIABLES else " "
    return f"{variable.name}{between}{variable.value}"


@error(
    "A pod without the node's network has `eth0` and `lo` ([CNI](https://github.com/containernetworking/cni/blob/main/"
    "SPEC.md)); without an interface [NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html), Gloo "
    "and MPI start no rank"
)
def host_network_interface(workload: WorkloadView) -> Iterator[Found]:
    """An interface of the node, of InfiniBand or of EFA: a pod without the node's network has only eth0."""
    if _on_the_node(workload) or any(_has_more_networks(pods) for pods in workload.rank_groups):
        return
    for variable in _interfaces(workload):
        names = variable.value.lstrip("=").split(",")
        is_excluding = variable.value.startswith("^") and variable.name == NCCL_INTERFACES
        is_right = is_excluding or names_interface(variable.name, variable.value, POD_INTERFACE)
        if is_right or not all(map(_OF_A_NODE.match, names)):
            continue
        problem = f"sets {_written(variable)}, but a pod's interface is {POD_INTERFACE}"
        instead = "^lo,docker,veth" if variable.name == NCCL_INTERFACES else POD_INTERFACE
        yield Found(variable.path, problem, f"write {_written(variable._replace(value=instead))}, or remove it")


@error(
    "No interface is left ([NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
    "#nccl-socket-ifname))"
)
def excluded_interface(workload: WorkloadView) -> Iterator[Found]:
    """`^eth0`: the pod's only interface is excluded."""
    if _on_the_node(workload) or any(_has_more_networks(pods) for pods in workload.rank_groups):
        return
    for variable in (*set_variables(workload, (NCCL_INTERFACES, *_EXCLUDED)), *_excluded(workload)):
        excludes = variable.name != NCCL_INTERFACES or variable.value.startswith("^")
        if excludes and names_interface(variable.name, variable.value, POD_INTERFACE):
            problem = f"sets {_written(variable)}, which excludes {POD_INTERFACE}, the only interface of a pod"
            is_nccl = variable.name == NCCL_INTERFACES
            instead = f"write {NCCL_INTERFACES}=^lo,docker,veth, or remove it" if is_nccl else "remove it"
            yield Found(variable.path, problem, instead)


_EXCLUDED = ("OMPI_MCA_btl_tcp_if_exclude", "OMPI_MCA_oob_tcp_if_exclude")
_EXCLUDE_OPTION = re.compile(r"-mca +(\w+_tcp_if_exclude) +([^\s;&|]+)")


def _excluded(workload: WorkloadView) -> Iterator[Variable]:
    """Yield the parameters of mpirun that exclude interfaces."""
    for container in workload.containers:
        for name, value in _EXCLUDE_OPTION.findall(" ".join(container.argv)):
            yield Variable(name, value.strip("\"'"), container.argv_path(name), True)


@error("Through it a pod reaches only itself (derived)")
def loopback_interface(workload: WorkloadView) -> Iterator[Found]:
    """The loopback interface for ranks in several pods."""
    if _pods(workload) < 2:
        return
    for variable in _interfaces(workload):
        if variable.value.lstrip("=") == LOOPBACK:
            problem = f"sets {_written(variable)}, through which no other pod can be reached"
            fix = f"write {_written(variable._replace(value=POD_INTERFACE))}, or remove it"
            yield Found(variable.path, problem, fix)


def _pods(workload: WorkloadView) -> int:
    """Return how many pods hold ranks; 2 for a group whose number is not known."""
    return sum(2 if pods.replicas is None else pods.replicas for pods in workload.rank_groups)


@warning(
    "The pods have the node's interfaces and ports ([Kubernetes](https://kubernetes.io/docs/concepts/workloads/pods/"
    "pod-hostname/)): Amazon Linux 2023 calls its interfaces [ens5 or "
    "similar](https://docs.aws.amazon.com/linux/al2023/ug/networking-service.html), and its sshd has port 22"
)
def host_network(workload: WorkloadView) -> Iterator[Found]:
    """The node's network, and the port of the node's sshd."""
    for pods in workload.groups:
        if pods.pod.get("hostNetwork") is not True:
            continue
        # Of an MPIJob's workers without a command, which get the operator's.
        by_operator = isinstance(workload, MpiJobView) and pods.role == "Worker"
        argv = pods.first.argv or ([SSHD, "-De"] if by_operator else [])
        if _listens_on_22(pods, argv):
            problem = "is true, but the node's own sshd has port 22 already"
            yield Found((*pods.pod_path, "hostNetwork"), problem, "remove hostNetwork: EFA devices do not need it")


def _listens_on_22(pods: PodGroup, argv: list[str]) -> bool:
    ports = [port.get("containerPort") for port in pods.first.ports]
    probe = mapping(mapping(pods.first.content.get("readinessProbe")).get("tcpSocket"))
    started = [sshd for command in worker_commands(argv) or [] if (sshd := sshd_of(command))]
    # Without a port of its options and a file of options, sshd takes 22.
    is_plain = any(sshd.port in (None, 22) and not sshd.has_config for sshd in started)
    return 22 in ports or probe.get("port") == 22 or (is_plain and not ports)


@error(
    "The node's DNS does not know the names of pods ([Kubernetes](https://kubernetes.io/docs/concepts/"
    "services-networking/dns-pod-service/#pod-s-dns-policy))"
)
def node_dns(workload: WorkloadView) -> Iterator[Found]:
    """The node's DNS for pods that find each other by name."""
    if len(workload.groups) < 2 and _pods(workload) < 2:
        return
    meets = any(True for _ in addresses(workload))
    for pods in workload.groups:
        on_the_node = pods.pod.get("hostNetwork") is True
        policy = pods.pod.get("dnsPolicy")
        # The MPI operator writes the policy of pods with the node's network itself; pods of a Job need not meet.
        if (on_the_node and workload.kind == "MPIJob") or (workload.kind in ("Job", "JobSet") and not meets):
            continue
        if policy == "Default" or (on_the_node and policy in (None, "ClusterFirst") and workload.kind != "Job"):
            given = "is Default" if policy == "Default" else "is not ClusterFirstWithHostNet, as hostNetwork needs"
            fix = "write ClusterFirstWithHostNet" if on_the_node else "remove it: the default is the cluster's DNS"
            yield Found((*pods.pod_path, "dnsPolicy"), f"{given}: the names of the other pods do not resolve", fix)
