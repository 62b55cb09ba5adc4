"""Rules on the gang of an MPIJob: how many of its pods start together (`spec.runPolicy.schedulingPolicy`).

https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/podgroup.go
"""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.values import mapping, whole
from training_workloads.mpijob.launch_options import DISCOVERY_SCRIPT_OPTION
from training_workloads.mpijob.view import MpiJobView

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
