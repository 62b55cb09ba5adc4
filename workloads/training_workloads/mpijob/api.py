"""The names of the API of MPIJobs (kubeflow.org/v2beta1), and the form of a job's name."""

from typing import Any, Literal

from training_workloads.names import dns_1035_label, leaves_room
from training_workloads.validation import Problems

__all__ = [
    "API_VERSION",
    "DAY_SECONDS",
    "JOB_NAME_LABEL",
    "JOB_ROLE_LABEL",
    "KIND",
    "LAUNCHER",
    "PREDICTION_ANNOTATION",
    "QUEUE_LABEL",
    "WORKER",
    "CleanPodPolicy",
    "Controller",
    "LauncherCreationPolicy",
    "MpiImplementation",
    "RestartPolicy",
    "job_name",
]

API_VERSION = "kubeflow.org/v2beta1"
KIND = "MPIJob"

#: Labels that the operator sets on a job's pods: the job's name, and the pod's role in the job.
#: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/constants.go
JOB_NAME_LABEL = "training.kubeflow.org/job-name"
JOB_ROLE_LABEL = "training.kubeflow.org/job-role"
LAUNCHER = "launcher"
WORKER = "worker"

#: Kueue puts a job with this label into that LocalQueue (https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/mpijobs/).
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"

#: Annotation of a job with its predicted speed as JSON, and the ranks for which it was calculated.
PREDICTION_ANNOTATION = "training-cluster/prediction"

DAY_SECONDS = 24 * 60 * 60

RestartPolicy = Literal["Never", "OnFailure"]
LauncherCreationPolicy = Literal["AtStartup", "WaitForWorkersReady"]
MpiImplementation = Literal["OpenMPI", "Intel", "MPICH"]
CleanPodPolicy = Literal["None", "Running", "All"]
Controller = Literal["kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"]


def job_name(name: str, value: Any, workers: Any) -> Problems:
    """Apply the operator's rule on names to the longest name that it derives from a job's.

    Args:
        name: The argument, as the user typed it.
        value: What they gave.
        workers: The job's number of workers; another rule rejects other values than numbers.
    """
    wrong = list(dns_1035_label(name, value))
    yield from wrong
    if wrong or not isinstance(workers, int):
        return
    suffix = f"-worker-{workers - 1}" if workers else "-launcher"
    yield from leaves_room(name, value, suffix, f"with {workers} workers the operator")
