"""Rules on the run policy of an MPIJob: its longest time, its restarts, the pods that stay, and its gang.

The gang: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/podgroup.go
"""

from collections.abc import Iterator

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import JOBS
from training_workloads.manifests.values import AMOUNT_KINDS, mapping, whole
from training_workloads.mpijob.launch_options import DISCOVERY_SCRIPT_OPTION
from training_workloads.mpijob.view import MpiJobView


@warning("Workers run sshd for ever and hold their GPUs (#134)")
def workers_outlive_job(job: MpiJobView) -> Iterator[Found]:
    """Workers that stay when the job has ended, and hold their GPUs (mpi-operator#134)."""
    policy = job.run_policy.get("cleanPodPolicy")
    # Elsewhere it is a field of another name.
    if policy in (None, "None") and _holds_something(job) and "cleanPodPolicy" not in job.spec:
        given = "is missing, and the operator's default is None" if policy is None else "is None"
        kept = "GPUs" if job.worker.total(GPU_RESOURCE) else "nodes"
        problem = f"{given}: the workers keep running after the job's end and hold their {kept}"
        yield Found(("spec", "runPolicy", "cleanPodPolicy"), problem, "write cleanPodPolicy: Running")


def _holds_something(job: MpiJobView) -> bool:
    """Return whether the workers request anything, and may run until they are stopped."""
    # An image's own program with other arguments, which may end.
    if job.worker.first.argv and not job.worker.first.content.get("command"):
        return False
    asks = any(one.amounts(kind) for one in job.worker.containers for kind in (*AMOUNT_KINDS, "claims"))
    return asks or bool(job.worker.pod.get("resources")) or bool(job.worker.pod.get("resourceClaims"))


@error(f"The Job of the launcher gets it, and fails with DeadlineExceeded at once {JOBS}")
def deadline_is_zero(job: MpiJobView) -> Iterator[Found]:
    """A deadline of 0 seconds, which is not the same as none."""
    if whole(job.run_policy.get("activeDeadlineSeconds")) == 0:
        problem = "is 0, and the launcher is ended at once"
        yield Found(("spec", "runPolicy", "activeDeadlineSeconds"), problem, "remove it, or give the longest time")


@warning(f"The Job waits 6 minutes at most between two tries: 100 of them are 10 hours {JOBS}")
def many_retries(job: MpiJobView) -> Iterator[Found]:
    """A launcher that is started again and again, while the workers hold their GPUs."""
    limit = whole(job.run_policy.get("backoffLimit"))
    if limit is not None and limit > _MANY and job.worker.total(GPU_RESOURCE):
        hours = limit * _LONGEST_WAIT // 3600
        problem = f"is {limit}: a program that always fails holds the GPUs for {hours} hours of retries"
        yield Found(
            ("spec", "runPolicy", "backoffLimit"), problem, "give as many as there may be lost nodes, such as 6"
        )


_MANY = 100
_LONGEST_WAIT = 360


_LEAST = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")


def _least(job: MpiJobView) -> int | None:
    return whole(mapping(job.run_policy.get("schedulingPolicy")).get("minAvailable"))


@error("The gang waits for the launcher and the launcher for the gang (#608)")
def gang_deadlock(job: MpiJobView) -> Iterator[Found]:
    """A gang that counts a launcher which is created only when the gang runs (mpi-operator#608)."""
    policy, workers = job.run_policy.get("schedulingPolicy"), job.worker.replicas
    if not isinstance(policy, dict) or not job.waits_for_workers or workers is None:
        return
    least = whole(policy.get("minAvailable"))
    # A larger one is the case of `gang-larger-than-job`.
    if policy.get("minAvailable") is None or least == workers + 1:
        given = "is missing, and the operator's default is workers + 1" if least is None else f"is {least}"
        problem = f"{given}: the gang waits for the launcher, and the launcher for the gang's {workers} workers"
        yield Found(_LEAST, problem, f"write minAvailable: {workers}")


@error(
    "The scheduler waits for more pods than there are "
    "([operator](https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/podgroup.go))"
)
def gang_larger_than_job(job: MpiJobView) -> Iterator[Found]:
    """A gang of more pods than the job has: none of them starts."""
    least, workers = _least(job), job.worker.replicas
    if least is not None and workers is not None and least > workers + 1:
        problem = f"is {least}, but the job has {workers + 1} pods, the launcher included, and none of them starts"
        yield Found(_LEAST, problem, f"write minAvailable: {workers if job.waits_for_workers else workers + 1}")


@warning("Two such jobs can each hold the nodes that the other one waits for (derived)")
def gang_smaller_than_job(job: MpiJobView) -> Iterator[Found]:
    """A gang of fewer pods than the workers, of a job that needs all of them."""
    least, workers = _least(job), job.worker.replicas
    is_elastic = any(launch.has(DISCOVERY_SCRIPT_OPTION) for launch in job.launches)
    if least is not None and workers is not None and 0 < least < workers and not is_elastic:
        problem = (
            f"is {least}: {least} of {workers} workers start and hold their nodes while the others wait for theirs"
        )
        yield Found(_LEAST, problem, f"write minAvailable: {workers}")
