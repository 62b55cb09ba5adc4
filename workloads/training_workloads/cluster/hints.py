"""Known causes of a job that does not start or fails, and how to fix them: one small function for each.

One cause is another MPIJob that stops the operator, which then starts no job of any namespace. The scheduler's
messages: https://github.com/kubernetes/kubernetes/tree/master/pkg/scheduler/framework/plugins
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.job_summaries import EVICTED, PENDING, SUSPENDED, JobSummary, PodSummary
from training_workloads.cluster.job_warnings import JobWarning
from training_workloads.cluster.resources import MPI_JOBS
from training_workloads.mpijob.decoding import decoding_failures
from training_workloads.mpijob.programs import USER_ERROR, explained
from training_workloads.platform.platform_spec import MPI_OPERATOR_NAMESPACE
from training_workloads.validation import Problem

__all__ = ["RULES", "Evidence", "Undecodable", "UndecodableJob", "find_hints", "find_undecodable", "rejected_input"]


@dataclass(frozen=True, kw_only=True, slots=True)
class UndecodableJob:
    """An MPIJob that the operator cannot decode, or has no memory for.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        problem: The first value that is wrong in it.
    """

    name: str
    namespace: str
    problem: Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Undecodable:
    """The known MPIJobs that stop the operator.

    Attributes:
        jobs: They, by namespace and name.
        everywhere: Whether those of every namespace are known, rather than of one.
    """

    jobs: tuple[UndecodableJob, ...] = ()
    everywhere: bool = True


def find_undecodable(cluster: Cluster) -> Undecodable:
    """Return the MPIJobs that stop the operator: of all namespaces, else of this one, else none."""
    # The state of a job is known without the other jobs, which the user may not list.
    for everywhere in (True, False):
        with suppress(ClusterError):
            return Undecodable(jobs=_undecodable_of(cluster, everywhere=everywhere), everywhere=everywhere)
    return Undecodable(everywhere=False)


def _undecodable_of(cluster: Cluster, *, everywhere: bool) -> tuple[UndecodableJob, ...]:
    found = []
    for job in cluster.objects(MPI_JOBS, all_namespaces=everywhere):
        place = job["metadata"]
        # A list does not repeat the kind in each object.
        whole = {"apiVersion": MPI_JOBS.api_version, "kind": MPI_JOBS.kind, **job}
        if problem := next(decoding_failures(whole), None):
            found.append(UndecodableJob(name=place["name"], namespace=place["namespace"], problem=problem))
    return tuple(sorted(found, key=lambda each: (each.namespace, each.name)))


# https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go
_REJECTED = "ValidationError"
_NOT_CREATED = "MPIJobFailed"

# The Job controller's event about a pod of the launcher:
# https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/controller/controller_utils.go
_POD_NOT_CREATED = "FailedCreate"

_OPERATOR_LOG = f"'kubectl logs -n {MPI_OPERATOR_NAMESPACE} deployment/mpi-operator'"

_INSUFFICIENT = r"Insufficient ([\w./-]+\w)"
_UNTOLERATED = r"untolerated taint(?:\(s\))? ?(\{[^}]*\})?"

_SHOWS_RELEASES = "'trainctl cluster status' shows the release of the AMI, with its known faults"

# The words of NVIDIA's libraries and of its container toolkit, by awslabs/amazon-eks-ami#2428, #2706 and #2790.
_OF_THE_AMI = {
    r"NVML: Unknown Error": "has lost its GPUs while it ran, as with NVIDIA Container Toolkits before 1.18: cancel the "
    f"job and submit it again, and it resumes; {_SHOWS_RELEASES}",
    r"NVML: Driver Not Loaded|nvml error: driver not loaded": "does not reach the driver of NVIDIA: "
    f"{_SHOWS_RELEASES}; 'nvidia-smi' on the node says whether the driver itself works",
    r"create application profiles directory": "mounts something read-only at /etc/nvidia, where NVIDIA Container "
    f"Toolkit 1.20 writes: mount it elsewhere; {_SHOWS_RELEASES}",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The known facts about a job.

    Attributes:
        job: The job.
        launchers: The launcher's attempts, oldest first.
        workers: Its workers.
        has_run: Whether all its workers have run at the same time.
        suspend: Whether a queue or a user wants it suspended.
        warnings: The warnings about it, oldest first.
        undecodable: MPIJobs that stop the operator, where that matters.
        repeated: How much training its ranks have repeated after their last start, such as "41 minutes".
    """

    job: JobSummary
    launchers: tuple[PodSummary, ...] = ()
    workers: tuple[PodSummary, ...] = ()
    has_run: bool = False
    suspend: bool = False
    warnings: tuple[JobWarning, ...] = ()
    undecodable: Undecodable = field(default_factory=Undecodable)
    repeated: str | None = None

    @property
    def pods(self) -> tuple[PodSummary, ...]:
        """All its pods."""
        return (*self.launchers, *self.workers)

    @property
    def lacks_pods(self) -> bool:
        """Whether its launcher or a worker does not exist, or did not before its end."""
        if self.job.is_finished:
            return not self.has_run
        return not self.launchers or (self.job.kind == MPI_JOBS.kind and len(self.workers) < self.job.workers)

    @property
    def is_to_be_resumed(self) -> bool:
        """Whether it is suspended although a queue has admitted it, or a user has resumed it."""
        return self.job.state == SUSPENDED and not self.suspend

    @property
    def waits_for_the_operator(self) -> bool:
        """Whether the operator may have something to do for it that it has not done."""
        if self.job.kind != MPI_JOBS.kind or self.job.is_finished:
            return False
        if self.job.state == SUSPENDED:
            return self.is_to_be_resumed
        return self.job.state == PENDING or self.suspend or self.lacks_pods

    def pod_in(self, *states: str) -> PodSummary | None:
        """Return the first pod in one of some states."""
        return next((pod for pod in self.pods if pod.state in states), None)

    def waiting_pods(self, pattern: str) -> Iterator[tuple[PodSummary, re.Match[str]]]:
        """Yield each pod whose reason matches a regular expression."""
        for pod in self.pods:
            if match := re.search(pattern, pod.why, re.IGNORECASE):
                yield pod, match

    def warning_of(self, *reasons: str) -> JobWarning | None:
        """Return the newest warning with one of some reasons."""
        return next((each for each in reversed(self.warnings) if each.reason in reasons), None)


def stopped_operator(evidence: Evidence) -> str | None:
    """An MPIJob that the operator cannot decode, or has no memory for, stops it for every namespace."""
    if not evidence.undecodable.jobs:
        return None
    first, *others = evidence.undecodable.jobs
    more = f" and {len(others)} other{'s' * (len(others) > 1)}" if others else ""
    return (
        f"the operator stops at MPIJob {first.name!r} in namespace {first.namespace!r} ({first.problem}){more}, and "
        "as long as it does, it starts and changes no job of any user: "
        f"'trainctl cancel {first.name} -n {first.namespace}'; the operator's log names the error: {_OPERATOR_LOG}"
    )


def rejected_by_the_operator(evidence: Evidence) -> str | None:
    """The operator rejects a job once, in an event, and then ignores it."""
    if evidence.warning_of(_REJECTED):
        return (
            "the operator rejects this job and will not start it: read the warning, fix the manifest, cancel the job "
            "and submit it again"
        )
    return None


def pods_forbidden(evidence: Evidence) -> str | None:
    """The API server rejects a pod of the job, and the operator retries."""
    warning = evidence.warning_of(_NOT_CREATED, _POD_NOT_CREATED)
    if warning is None or " is forbidden: " not in warning.message or not evidence.lacks_pods:
        return None
    reason = warning.message.partition(" is forbidden: ")[2]
    if "violates PodSecurity" in reason:
        fix = "render the job with this version of trainctl, or use a namespace with another pod-security label"
    elif "exceeded quota" in reason:
        fix = "wait until other jobs have ended ('trainctl list'), render fewer workers, or ask for a larger quota"
    elif reason.startswith('User "'):
        fix = "install the operator's permissions again: 'kubectl apply -f dist/platform/'"
    else:
        fix = "change the job, or ask an administrator of the cluster"
    return f"the cluster rejects the pods of the job ({reason}): {fix}"


def program_rejected_its_input(evidence: Evidence) -> str | None:
    """The program found a mistake in its options or files, and each restart finds it again."""
    return rejected_input(evidence.job, evidence.launchers)


def gpus_out_of_reach(evidence: Evidence) -> str | None:
    """A container cannot use the GPUs of its node, in which the node's AMI has its part."""
    for pattern, cause in _OF_THE_AMI.items():
        for pod, _ in evidence.waiting_pods(pattern):
            return f"{pod.name} on {pod.node or 'its node'} {cause}"
    return None


def began_again(evidence: Evidence) -> str | None:
    """The ranks restarted, and the program does not resume."""
    if evidence.repeated:
        return (
            f"after their last start the ranks began again, without a checkpoint, and repeat {evidence.repeated} of "
            "training: the program has to save its state and to resume; docs/exact-resume.md shows how"
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
    if any(evidence.waiting_pods(r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim .* not found")):
        return (
            "a PersistentVolumeClaim is missing or has no volume: 'kubectl get pvc' shows which; the cluster's stack "
            "creates the claims of its file systems"
        )
    return None


def too_few_devices(evidence: Evidence) -> str | None:
    """No node has enough free devices, CPUs or memory."""
    for pod in evidence.pods:
        if (resource := _lacking(pod)) and not _taint_of(pod, resource):
            nodes = f"of {' or '.join(pod.instance_types)}" if pod.instance_types else "of these pods"
            return (
                f"no node has enough free {resource}: check that the node group {nodes} can grow (max_size in "
                "cluster.yaml; AWS may have no capacity), or which job uses them ('trainctl list -A')"
            )
    return None


def taint_not_tolerated(evidence: Evidence) -> str | None:
    """The nodes have a taint that the pods do not tolerate."""
    for pod, match in evidence.waiting_pods(_UNTOLERATED):
        # Where the right nodes lack devices, the taint is that of other nodes, unless it is named like the device.
        lacking = _lacking(pod)
        taint = _taint_of(pod, lacking) if lacking else match[1] or "of the nodes"
        if taint:
            return f"the pods do not tolerate the taint {taint}: add the toleration, or render the job again"
    return None


def no_such_node(evidence: Evidence) -> str | None:
    """The pod requires labels that no node has."""
    for pod, _ in evidence.waiting_pods(r"didn't match Pod's node affinity/selector"):
        if not re.search(f"{_INSUFFICIENT}|{_UNTOLERATED}", pod.why, re.IGNORECASE):
            nodes = " or ".join(pod.instance_types) or "the labels that they require"
            return f"no node matches the pods: the cluster needs a node group with {nodes} that can grow (max_size)"
    return None


def not_admitted(evidence: Evidence) -> str | None:
    """A queue has not admitted the job, or a user suspended it."""
    job = evidence.job
    if job.state == SUSPENDED and evidence.suspend:
        if job.queue is None:
            return "it is suspended and in no queue: a user set suspend"
        quota = f"'kubectl describe workloads -n {job.namespace}' says what quota it waits for"
        return f"it is suspended: the queue {job.queue!r} has not admitted it yet ({quota}), or a user set suspend"
    return None


def not_started_by_the_operator(evidence: Evidence) -> str | None:
    """The operator has not started it, or not again, for no reason that the other rules know."""
    job = evidence.job
    if job.kind != MPI_JOBS.kind or not (job.state == PENDING or evidence.is_to_be_resumed):
        return None
    if evidence.undecodable.jobs or rejected_by_the_operator(evidence):
        return None
    done = "resumed" if evidence.is_to_be_resumed else "started"
    elsewhere = (
        "" if evidence.undecodable.everywhere else ", which may be an MPIJob of a namespace that you cannot read"
    )
    return f"the operator has not {done} it: if that lasts, its log has the reason{elsewhere}: {_OPERATOR_LOG}"


#: In the order in which their hints are shown: what stops or ends a job comes before what delays it.
RULES: tuple[Callable[[Evidence], str | None], ...] = (
    stopped_operator,
    rejected_by_the_operator,
    pods_forbidden,
    program_rejected_its_input,
    gpus_out_of_reach,
    out_of_memory,
    evicted,
    began_again,
    image_not_pulled,
    claim_not_bound,
    too_few_devices,
    taint_not_tolerated,
    no_such_node,
    not_admitted,
    not_started_by_the_operator,
)


def find_hints(evidence: Evidence) -> tuple[str, ...]:
    """Return the text of each rule that applies, the first cause first."""
    return tuple(text for rule in RULES if (text := rule(evidence)))


def rejected_input(job: JobSummary, launchers: tuple[PodSummary, ...]) -> str | None:
    """Return what to do where the newest launcher, the last one, ended with the exit code of a user's mistake."""
    if not launchers or launchers[-1].exit_code != USER_ERROR:
        return None
    return (
        f"{launchers[-1].name} ended with {explained(USER_ERROR)}; read the end of 'trainctl logs {job.name}', cancel "
        "the job, fix it and submit it again"
    )


def _lacking(pod: PodSummary) -> str | None:
    """Return the resource that nodes lack; of several a device, which other nodes do not have at all."""
    found = re.findall(_INSUFFICIENT, pod.why, re.IGNORECASE)
    return next((resource for resource in found if "/" in resource), next(iter(found), None))


def _taint_of(pod: PodSummary, resource: str) -> str | None:
    """Return the taint, named like a resource, by which the nodes that have it reject the pod."""
    match = re.search(rf"untolerated taint(?:\(s\))? ?(\{{{re.escape(resource)}(?:: ?[^}}]*)?\}})", pod.why)
    return match[1] if match else None
