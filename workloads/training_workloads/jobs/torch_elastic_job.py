"""A job of PyTorch's torchrun: an elastic Indexed Job, whose workers meet at a store in a small pod beside them."""

from typing import Annotated, Any, Literal

from training_workloads.catalog.framework_images import (
    TORCH_FRAMEWORKS,
    shown_capability,
    supported_compute_capabilities,
)
from training_workloads.jobs.cost_cap import cap_options
from training_workloads.jobs.gpu_job import ElasticGpuJobSpec
from training_workloads.jobs.rank_environment import torch_environment
from training_workloads.jobs.rendezvous_store import RENDEZVOUS_STORES, STORE_SUFFIX, Rendezvous, RendezvousStore
from training_workloads.jobs.train_job import TRAIN_JOB, expressible_as_train_job, train_job
from training_workloads.manifests.torchrun import torchrun
from training_workloads.mpijob.api import DAY_SECONDS, JOB_NAME_LABEL, JOB_ROLE_LABEL, WORKER
from training_workloads.mpijob.programs import (
    LOCAL_TORCH_CUDA12_IMAGE,
    LOCAL_TORCH_IMAGE,
    RUN_TORCHRUN,
    USER_ERROR,
)
from training_workloads.names import leaves_room
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, at_least

__all__ = ["TorchElasticJobSpec"]

# What an image that was built here contains; of any other, only its address may say it.
_LOCAL_IMAGES = {
    LOCAL_TORCH_IMAGE: TORCH_FRAMEWORKS["torch"],
    LOCAL_TORCH_CUDA12_IMAGE: TORCH_FRAMEWORKS["torch-cuda12"],
}

# A finished job's pods, and with them their logs, are kept for a week.
_TTL_SECONDS = 7 * DAY_SECONDS

# Kubernetes' limit for a Job that counts its pods (https://kubernetes.io/docs/concepts/workloads/controllers/job/).
_MOST_PODS = 100_000

# The id of the Job object, which names the rendezvous: torchrun closes a rendezvous for ever when a run ends, and a job
# that is created again under the same name must find another one
# (`shutdown_rdzv` in https://github.com/pytorch/pytorch/blob/main/torch/distributed/launcher/api.py, read 2026-11-23).
_RUN_ID = "TRAINING_JOB_UID"
_UID_LABEL = "batch.kubernetes.io/controller-uid"
_FROM_LABEL = {"name": _RUN_ID, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{_UID_LABEL}']"}}}

# `_start_workers` in https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/agent/server/
# local_elastic_agent.py (read in torch 2.15.0)
_OF_TORCHRUN = frozenset(
    "RANK LOCAL_RANK GROUP_RANK ROLE_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_WORLD_SIZE ROLE_WORLD_SIZE ROLE_NAME "
    "MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RUN_ID "
    "TORCHELASTIC_USE_AGENT_STORE".split()
)


class TorchElasticJobSpec(ElasticGpuJobSpec):
    """A job of torchrun whose number of workers may change while it runs, such as on Spot nodes.

    A worker is a pod, and so a node of torchrun: its agent starts one rank per GPU. When a worker is lost, the others
    start their ranks again without it, and when it is back, with it; each start resumes from the newest checkpoint or
    snapshot, which is the program's task. A rank that reports a user's error, as those of `training.runtime` do, ends
    the job at once. The image has torch, `training.pods`, the program, and the non-root user 1000; for `etcd` the
    package python-etcd too. The command may be any: torchrun starts it with `--no-python`.

    Attributes:
        max_restarts: How often in its life each worker starts its ranks again after one of them failed; then the job
            ends. A worker that is lost, or taken away by `scale`, counts for the others, because their ranks fail; one
            that joins does not. Default: 100, for weeks on Spot nodes: a user's error ends the job before.
        backoff_limit: How often the pod of each worker is replaced after it failed, such as with the store. One that is
            lost with its node, or evicted, does not count. Default: 3.
        rendezvous: Where the workers meet: `c10d`, torch's store in a pod with the job's image, or `etcd`.
            Default: `c10d`.
        kind: What is created: a `Job` of Kubernetes with a store, or a `TrainJob` of Kubeflow Trainer 2, whose number
            of workers is fixed. Default: `Job`.
    """

    workers: Annotated[int, Checked(at_least, 1, _MOST_PODS)]
    max_workers: Annotated[int, Checked(at_least, 1, _MOST_PODS)] | None = None
    max_restarts: Annotated[int, Checked(at_least, 0)] = 100
    backoff_limit: Annotated[int, Checked(at_least, 0)] = 3
    rendezvous: Rendezvous = "c10d"
    kind: Literal["Job", "TrainJob"] = "Job"

    @property
    def store(self) -> RendezvousStore:
        """The store at which the workers meet."""
        return RENDEZVOUS_STORES[self.rendezvous]

    @property
    def worker_labels(self) -> dict[str, str]:
        """Labels of the workers' pods: those that Kubeflow's operators give to the pods of training jobs."""
        return {JOB_NAME_LABEL: self.name, JOB_ROLE_LABEL: WORKER}

    def job(self) -> dict[str, Any]:
        """Return the `spec` of the Job, or of the TrainJob."""
        if self.kind == TRAIN_JOB:
            return train_job(self, self._worker())
        return {
            "completionMode": "Indexed",
            # `kubectl` and the API change both together, or neither: the Job is elastic.
            "completions": self.workers,
            "parallelism": self.workers,
            # By worker, because all of them fail when the store is lost; none is given up while the others train.
            "backoffLimitPerIndex": self.backoff_limit,
            "maxFailedIndexes": 0,
            # The first rule that fits decides.
            "podFailurePolicy": {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [USER_ERROR]}},
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            },
            "activeDeadlineSeconds": self.deadline_seconds,
            "ttlSecondsAfterFinished": _TTL_SECONDS,
            **({"suspend": True} if self.scheduling.suspend() else {}),
            "template": self._worker(),
        }

    def service(self) -> dict[str, Any]:
        """Return the `spec` of the headless Service, which names the workers before they are ready."""
        return {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": self.worker_labels}

    def _worker(self) -> dict[str, Any]:
        variables = {**torch_environment(self.resources, self.largest), **self.environment}
        env: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in variables.items()]
        if self.kind != TRAIN_JOB:
            env.insert(0, _FROM_LABEL)
        return self.pods.worker(
            self._torchrun(),
            container={"env": env},
            labels=self.worker_labels,
            restartPolicy="Never",
            # The name of the Service: with it each worker has a name that the others can resolve.
            subdomain=self.name,
        )

    def _torchrun(self) -> list[str]:
        if self.kind == TRAIN_JOB:
            # The trainer sets nodes, ranks, and the address of the pod of index 0 as variables (`PET_…`).
            return ["torchrun", "--no-python", *self.command]
        program, end = RUN_TORCHRUN[:-1], RUN_TORCHRUN[-1]
        # Each agent counts for all workers: none of them sees how many there are.
        cap = cap_options(self.max_cost, self.instance, self.resources.gpus, self.workers)
        return [
            *program,
            *(word for option in cap.items() for word in option),
            end,
            "torchrun",
            f"--nnodes={self.min_workers}:{self.largest}",
            f"--nproc-per-node={self.resources.gpus}",
            f"--max-restarts={self.max_restarts}",
            *self.store.torchrun_options(self.rendezvous, self.name, self.start_timeout_seconds),
            f"--rdzv-id=$({_RUN_ID})",
            "--no-python",
            *self.command,
        ]


@TorchElasticJobSpec.rule
def _name(spec: TorchElasticJobSpec) -> Problems:
    """Reject a name that is too long for the names that are derived from it."""
    # As long as the end of the last pod's name, `-99999`.
    yield from leaves_room("name", spec.name, STORE_SUFFIX, "Kubernetes")


@TorchElasticJobSpec.rule
def _gpu_of_the_image(spec: TorchElasticJobSpec) -> Problems:
    """Reject a GPU for which the image's PyTorch has no code: the ranks would end at the first kernel."""
    known = _LOCAL_IMAGES.get(spec.image) or supported_compute_capabilities(spec.image)
    gpu = spec.instance.gpu
    if gpu and known and not known.includes(gpu):
        allowed = f"its {gpu.model} has compute capability {shown_capability(gpu.compute_capability)}, and {known}"
        fix = "choose a type with another GPU, or give another image"
        given = spec.instance_type
        yield Problem(path=("instance_type",), given=given, allowed=allowed, fix=fix, related=(("image",),))


TorchElasticJobSpec.rule(expressible_as_train_job)


@TorchElasticJobSpec.rule
def _no_gang(spec: TorchElasticJobSpec) -> Problems:
    if spec.scheduling.gang:
        allowed = "gangs are made by the MPI operator, which does not know this job"
        fix = "omit it, and give a queue: Kueue starts all workers together"
        yield Problem(path=("scheduling", "gang"), given=True, allowed=allowed, fix=fix)


@TorchElasticJobSpec.rule
def _one_torchrun(spec: TorchElasticJobSpec) -> Problems:
    """Reject a command with torchrun: each rank would start an agent, which starts as many ranks again."""
    if torchrun(spec.command):
        allowed = "the job itself starts it with torchrun, once per GPU"
        fix = "give the program that each rank runs, without torchrun and its options"
        yield Problem(path=("command",), given=spec.command, allowed=allowed, fix=fix)


@TorchElasticJobSpec.rule
def _set_by_the_job(spec: TorchElasticJobSpec) -> Problems:
    """Reject a variable that the job or torchrun sets: the value given here would be another one for the ranks."""
    for name, given in spec.environment.items():
        if name == _RUN_ID:
            allowed = "the job itself sets it, as the name of the rendezvous"
        elif name in _OF_TORCHRUN:
            allowed = "torchrun sets it for each rank"
        else:
            continue
        yield Problem(path=("environment", name), given=given, allowed=allowed, fix="omit it")
