"""Known causes of a job that does not start or fails, and how to fix them: one small function for each.

The scheduler's messages: https://github.com/kubernetes/kubernetes/tree/master/pkg/scheduler/framework/plugins
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from training_workloads.cluster.job_summaries import EVICTED, PENDING, SUSPENDED, JobSummary, PodSummary
from training_workloads.cluster.resources import MPI_JOBS
from training_workloads.platform.platform_spec import MPI_OPERATOR_NAMESPACE

__all__ = ["RULES", "Evidence", "hint"]

# https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go
_REJECTED = "ValidationError"


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What is known about a job.

    Attributes:
        job: The job.
        pods: Its pods.
        warnings: Reasons of the warnings about it, each in one word.
    """

    job: JobSummary
    pods: tuple[PodSummary, ...]
    warnings: frozenset[str]

    def pod_in(self, *states: str) -> PodSummary | None:
        """Return the first pod in one of some states."""
        return next((pod for pod in self.pods if pod.state in states), None)

    def waiting_pod(self, pattern: str) -> tuple[PodSummary, re.Match[str]] | None:
        """Return the first pod whose reason matches a regular expression."""
        for pod in self.pods:
            if match := re.search(pattern, pod.why, re.IGNORECASE):
                return pod, match
        return None


def rejected_by_the_operator(evidence: Evidence) -> str | None:
    """The operator rejects a job once, in an event, and then ignores it."""
    if _REJECTED in evidence.warnings:
        return (
            "the operator rejects this job and will not start it: read the warning, fix the manifest, cancel the job "
            "and submit it again"
        )
    return None


def evicted(evidence: Evidence) -> str | None:
    """A node evicted a worker, and the operator neither deletes nor ends the job."""
    if evidence.job.state == EVICTED:
        return (
            "a worker was evicted from its node, and the others still occupy theirs: if the job does not continue, "
            "cancel it and submit it again; it resumes from its checkpoint"
        )
    return None


def out_of_memory(evidence: Evidence) -> str | None:
    """The kernel killed a process of the pod."""
    if pod := evidence.pod_in("OOMKilled"):
        return (
            f"{pod.name} used more memory than its limit: give each worker more GPUs, and with them a larger share of "
            "the node, or use a larger instance type, or a smaller shuffle buffer and batch"
        )
    return None


def image_not_pulled(evidence: Evidence) -> str | None:
    """The node cannot get the image."""
    if evidence.pod_in("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"):
        return (
            "the image cannot be pulled: compare its address and tag with 'aws ecr describe-images', and check that "
            "the nodes can connect to the registry"
        )
    return None


def claim_not_bound(evidence: Evidence) -> str | None:
    """A volume that the pod mounts is missing."""
    if evidence.waiting_pod(r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim .* not found"):
        return (
            "a PersistentVolumeClaim is missing or has no volume: 'kubectl get pvc' shows which; the cluster's stack "
            "creates the claims of its file systems"
        )
    return None


def too_few_devices(evidence: Evidence) -> str | None:
    """No node has enough free devices, CPUs or memory."""
    if found := evidence.waiting_pod(r"Insufficient ([\w./-]+\w)"):
        pod, match = found
        nodes = f"of {' or '.join(pod.instance_types)}" if pod.instance_types else "of these pods"
        return (
            f"no node has enough free {match[1]}: check that the node group {nodes} can grow (max_size in "
            "cluster.yaml; AWS may have no capacity), or which job uses them ('trainctl list -A')"
        )
    return None


def taint_not_tolerated(evidence: Evidence) -> str | None:
    """The nodes have a taint that the pods do not tolerate."""
    if found := evidence.waiting_pod(r"untolerated taint(?:\(s\))? ?(\{[^}]*\})?"):
        taint = found[1][1] or "of the nodes"
        return f"the pods do not tolerate the taint {taint}: add the toleration, or render the job again"
    return None


def no_such_node(evidence: Evidence) -> str | None:
    """The pod requires labels that no node has."""
    if found := evidence.waiting_pod(r"didn't match Pod's node affinity/selector"):
        nodes = " or ".join(found[0].instance_types) or "the labels that they require"
        return f"no node matches the pods: the cluster needs a node group with {nodes} that can grow (max_size)"
    return None


def not_admitted(evidence: Evidence) -> str | None:
    """A queue has not admitted the job, or a user suspended it."""
    if evidence.job.state == SUSPENDED:
        return "it is suspended: a queue has not admitted it yet ('kubectl get workloads'), or a user set suspend"
    return None


def not_started_by_the_operator(evidence: Evidence) -> str | None:
    """The operator has set no condition."""
    if evidence.job.kind == MPI_JOBS.kind and evidence.job.state == PENDING:
        return (
            "the operator has not started it: if that lasts, check that the operator runs: "
            f"'kubectl get pods -n {MPI_OPERATOR_NAMESPACE}'"
        )
    return None


#: The first one that applies is shown: what ends a job comes before what delays it.
RULES: tuple[Callable[[Evidence], str | None], ...] = (
    rejected_by_the_operator,
    out_of_memory,
    evicted,
    image_not_pulled,
    claim_not_bound,
    too_few_devices,
    taint_not_tolerated,
    no_such_node,
    not_admitted,
    not_started_by_the_operator,
)


def hint(evidence: Evidence) -> str | None:
    """Return the text of the first rule that applies; `None` if the cause is not a known one."""
    return next((text for rule in RULES if (text := rule(evidence))), None)
