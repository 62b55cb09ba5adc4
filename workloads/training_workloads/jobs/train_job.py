"""A TrainJob of Kubeflow Trainer 2 in place of a Job and its store: the trainer makes pods and rendezvous.

The job names the runtime `torch-distributed`, which the trainer's chart installs, and changes its pods by a patch
(https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime-patches/, read 2026-11-23). A patch has some
fields of a pod alone: tests/train_job_definition.py has the pinned definition.
"""

from typing import Any

from training_workloads.jobs.gpu_job import GpuJobSpec
from training_workloads.manifests.torchrun import RESERVED_BY_TRAINER
from training_workloads.names import leaves_room
from training_workloads.validation import Problem, Problems

__all__ = ["NODES_SUFFIX", "TRAIN_JOB", "TRAIN_JOB_API", "expressible_as_train_job", "train_job"]

TRAIN_JOB = "TrainJob"
TRAIN_JOB_API = "trainer.kubeflow.org/v1alpha1"

_RUNTIME = {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "torch-distributed"}

# The runtime's replicated job, and the container in it, have one name.
_NODE = "node"

#: What the Job of its workers, which JobSet makes, has behind its name.
NODES_SUFFIX = f"-{_NODE}-0"

# Whose patch it is: other controllers, such as Kueue, add theirs.
_MANAGER = "training-cluster/job"

# What a patch may have of the pod, of what the jobs here use.
_PATCHED = ("serviceAccountName", "volumes", "securityContext", "nodeSelector", "affinity", "tolerations")

# What a TrainJob cannot say, with the reason; the defaults of a Job are ignored.
_ONLY_A_JOB = {
    "min_workers": "its number of workers is fixed",
    "max_workers": "its number of workers is fixed",
    "max_restarts": "failurePolicy of its runtime decides on restarts",
    "backoff_limit": "failurePolicy of its runtime decides on restarts",
    "max_cost": "no agent counts the cost",
    "rendezvous": "its workers meet at the pod of index 0",
    "start_timeout_seconds": "its workers wait as long as torchrun's default",
}
_ONLY_A_JOB_PLACES = ("priority_class", "spread_over")


def train_job(spec: GpuJobSpec, template: dict[str, Any]) -> dict[str, Any]:
    """Return the `spec` of a TrainJob.

    Args:
        spec: The job.
        template: Template of the workers' pods, whose container runs torchrun.
    """
    pod = template["spec"]
    (container,) = pod["containers"]
    node = {"name": _NODE, **{field: container[field] for field in ("volumeMounts", "securityContext")}}
    changed = {field: pod[field] for field in _PATCHED if field in pod} | {"containers": [node]}
    job = {"name": _NODE, "template": {"spec": {"template": {"metadata": template["metadata"], "spec": changed}}}}
    return {
        "runtimeRef": _RUNTIME,
        "trainer": {
            "image": container["image"],
            "command": container["command"],
            "env": container["env"],
            "numNodes": spec.workers,
            "numProcPerNode": spec.resources.gpus,
            "resourcesPerNode": spec.resources.to_wire(),
        },
        "runtimePatches": [
            {"manager": _MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
        ],
        "activeDeadlineSeconds": spec.deadline_seconds,
        **({"suspend": True} if spec.scheduling.suspend() else {}),
    }


def expressible_as_train_job(spec: Any) -> Problems:
    """Reject values of a `TorchElasticJobSpec` that a TrainJob has no field for; a Job has all."""
    if spec.kind != TRAIN_JOB:
        return
    for name, why in _ONLY_A_JOB.items():
        given = getattr(spec, name)
        if given != type(spec).model_fields[name].default:
            yield _problem((name,), given, why)
    for name in _ONLY_A_JOB_PLACES:
        if (given := getattr(spec.scheduling, name)) is not None:
            yield _problem(("scheduling", name), given, "a patch of its pods does not have it")
    for name in RESERVED_BY_TRAINER:
        if given := spec.environment.get(name):
            allowed = "the trainer sets it in a TrainJob"
            yield Problem(path=("environment", name), given=given, allowed=allowed, fix="omit it")
    # JobSet's name of the last pod.
    yield from leaves_room("name", spec.name, f"{NODES_SUFFIX}-99999", "Kubernetes")


def _problem(path: tuple[str, ...], given: Any, why: str) -> Problem:
    fix = "omit it, or use a Job of Kubernetes"
    return Problem(path=path, given=given, allowed=f"of a TrainJob {why}", fix=fix, related=(("kind",),))
