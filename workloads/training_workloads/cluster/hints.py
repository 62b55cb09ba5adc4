"""Known causes of a job that does not start or ends badly, and what mends them: one rule, one small function.

How the scheduler words its reasons: https://github.com/kubernetes/kubernetes/tree/master/pkg/scheduler/framework/plugins
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from training_workloads.cluster.job_state import EVICTED, PENDING, SUSPENDED, JobView
from training_workloads.cluster.pods import PodView
from training_workloads.platform.mpi_operator import MPI_OPERATOR_NAMESPACE

__all__ = ["RULES", "Evidence", "hint"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What is known about a job.

    Attributes:
        job: The job.
        pods: Its pods.
        warnings: Reasons and messages of the warnings about it.
    """

    job: JobView
    pods: tuple[PodView, ...]
    warnings: tuple[str, ...]

    def pod_in(self, *states: str) -> PodView | None:
        """The first pod in one of some states."""
        return next((pod for pod in self.pods if pod.state in states), None)

    def waiting_pod(self, pattern: str) -> tuple[PodView, re.Match[str]] | None:
        """The first pod about which the scheduler or the kubelet says something of a form."""
        for pod in self.pods:
            if match := re.search(pattern, pod.why, re.IGNORECASE):
                return pod, match
        return None


def refused_by_the_operator(evidence: Evidence) -> str | None:
    """The operator says what it refuses once, in an event, and never looks at the job again."""
    if any(warning.startswith("ValidationError") for warning in evidence.warnings):
        return "the operator refuses this job and will not start it: see the warning, mend the manifest, cancel, submit"
    return None


def evicted(evidence: Evidence) -> str | None:
    """A node took a worker back, and the operator neither cleans up nor ends the job."""
    if evidence.job.state == EVICTED:
        return (
            "a worker was evicted from its node, and the others still hold theirs; if the job does not go on by "
            "itself, cancel it and submit it again: it goes on from its checkpoint"
        )
    return None


def out_of_memory(evidence: Evidence) -> str | None:
    """The kernel killed a process of the pod."""
    if pod := evidence.pod_in("OOMKilled"):
        return (
            f"{pod.name} used more memory than its limit: take more GPUs' share of a node for each worker, a larger "
            "instance type, or a smaller shuffle buffer and batch"
        )
    return None


def image_not_pulled(evidence: Evidence) -> str | None:
    """The node cannot get the image."""
    if evidence.pod_in("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"):
        return (
            "the image cannot be pulled: compare its address and tag with 'aws ecr describe-images', and see that the "
            "nodes reach the registry"
        )
    return None


def claim_not_bound(evidence: Evidence) -> str | None:
    """A volume that the pod mounts is not there."""
    if evidence.waiting_pod(r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim .* not found"):
        return (
            "a PersistentVolumeClaim is missing or has no volume: 'kubectl get pvc' shows which; the cluster's stack "
            "makes the claims of its file systems"
        )
    return None


def too_few_devices(evidence: Evidence) -> str | None:
    """No node has enough of something left."""
    if found := evidence.waiting_pod(r"Insufficient ([\w./-]+\w)"):
        pod, match = found
        nodes = f"of {' or '.join(pod.instance_types)}" if pod.instance_types else "of these pods"
        return (
            f"no node has enough {match[1]} left: see that the node group {nodes} may grow (max_size in cluster.yaml; "
            "AWS may have no capacity), or which job holds them ('training-workloads list -A')"
        )
    return None


def taint_not_tolerated(evidence: Evidence) -> str | None:
    """The nodes keep off pods that do not say that they may run there."""
    if found := evidence.waiting_pod(r"untolerated taint(?:\(s\))? ?(\{[^}]*\})?"):
        taint = found[1][1] or "of the nodes"
        return f"the pods do not tolerate the taint {taint}: add the toleration to the pod template, or render again"
    return None


def no_such_node(evidence: Evidence) -> str | None:
    """The pod asks for labels that no node has."""
    if found := evidence.waiting_pod(r"didn't match Pod's node affinity/selector"):
        nodes = " or ".join(found[0].instance_types) or "the labels that they ask for"
        return f"no node matches the pods: the cluster needs a node group with {nodes}, and room in its max_size"
    return None


def not_admitted(evidence: Evidence) -> str | None:
    """A queue holds the job back, or a person suspended it."""
    if evidence.job.state == SUSPENDED:
        return "it is suspended: a queue has not admitted it yet ('kubectl get workloads'), or someone set suspend"
    return None


def not_taken_up(evidence: Evidence) -> str | None:
    """The operator has written nothing into the job."""
    if evidence.job.kind == "MPIJob" and evidence.job.state == PENDING:
        return (
            "the operator has not taken it up; if that lasts, see whether it runs: "
            f"'kubectl get pods -n {MPI_OPERATOR_NAMESPACE}'"
        )
    return None


#: In the order in which the first that fits is told: what ends a job first, then what holds it up.
RULES: tuple[Callable[[Evidence], str | None], ...] = (
    refused_by_the_operator,
    out_of_memory,
    evicted,
    image_not_pulled,
    claim_not_bound,
    too_few_devices,
    taint_not_tolerated,
    no_such_node,
    not_admitted,
    not_taken_up,
)


def hint(evidence: Evidence) -> str | None:
    """What the first rule that fits says; `None` if the cause is not a known one."""
    return next((text for rule in RULES if (text := rule(evidence))), None)
