"""Rules on pods that should end and do not, and on files that end with them.

https://kubernetes.io/docs/concepts/workloads/controllers/job/
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.rules.mount_rules import whole_mounts
from training_workloads.lint.sources import JOBS
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.launch_command import LAUNCHERS, commands, program_of

# Programs that run until they are stopped, and images of such programs.
_SERVERS = set(
    "tensorboard nginx envoy redis-server fluent-bit fluentd vector telegraf filebeat dcgm-exporter node_exporter "
    "prometheus jupyter jupyter-lab jupyter-notebook otelcol cloud_sql_proxy cloud-sql-proxy haproxy statsd_exporter "
    "amazon-cloudwatch-agent aws-for-fluent-bit promtail".split()
)
_FOR_EVER = re.compile(r"(sleep (inf|infinity|\d{7,})|tail -[fF]n? ?.*|while (true|:|\[ 1 \]).*)")
_TRAINING = {*LAUNCHERS, "python", "python3", "torchrun", "accelerate", "deepspeed"}


def _ending(workload: WorkloadView) -> Iterator[PodGroup]:
    """Yield the pods that end a job when they end: of an MPIJob the launcher, of the others all."""
    yield from (pods for pods in workload.groups if workload.kind != "MPIJob" or pods.role == "Launcher")


def _runs_for_ever(container: Container) -> bool:
    started = commands(container.argv) or []
    if started:
        last = started[-1]
        loops = any(command[0] == "while" and _FOR_EVER.fullmatch(" ".join(command)) for command in started)
        return program_of(last) in _SERVERS or bool(_FOR_EVER.fullmatch(" ".join(last))) or loops
    image = str(container.content.get("image")).rpartition("/")[2]
    return not container.argv and re.split("[:@]", image)[0] in _SERVERS


@error(f"A Job's pod is complete when all of its containers have ended {JOBS}")
def sidecar_never_ends(workload: WorkloadView) -> Iterator[Found]:
    """A container beside the work that runs for ever: the job never completes."""
    for pods in _ending(workload):
        containers = pods.containers
        works = [one for one in containers if not _runs_for_ever(one)]
        for container in containers if works else ():
            if _runs_for_ever(container):
                problem = "runs until it is stopped, and the pod never completes"
                fix = "move it to initContainers with restartPolicy: Always, which makes it a sidecar"
                yield Found(container.path, problem, fix)


@warning(f"The pod keeps its GPUs, and the job never completes {JOBS}")
def waits_after_training(workload: WorkloadView) -> Iterator[Found]:
    """A script that sleeps for ever behind the training."""
    for container in (one for pods in _ending(workload) for one in pods.containers):
        started = commands(container.argv) or []
        # Lines of Python after `-c` only look at something.
        trains = any(program_of(command) in _TRAINING and "-c" not in command[1:2] for command in started[:-1])
        if trains and _FOR_EVER.fullmatch(" ".join(started[-1])):
            problem = f"ends with {' '.join(started[-1])!r}, with which the job never completes"
            yield Found(container.argv_path(started[-1][-1]), problem, "remove it")


# Names of shared file systems and of their folders.
_SHARED = {"fsx", "efs", "lustre", "nfs", "checkpoint", "checkpoints", "ckpt", "ckpts"}


@warning("Its files end with the pod ([emptyDir](https://kubernetes.io/docs/concepts/storage/volumes/#emptydir))")
def files_lost_with_pod(workload: WorkloadView) -> Iterator[Found]:
    """An emptyDir where a shared file system or checkpoints are expected, such as `/fsx`."""
    for pods in workload.rank_groups:
        mounts = list(whole_mounts(pods))
        for container, path, where, volume in mounts:
            source = mapping(mapping(volume).get("emptyDir"))
            is_empty = "emptyDir" in mapping(volume) and source.get("medium") in (None, "")
            # Other containers of the pod may fill it, or save it.
            alone = sum(other is volume for _, _, _, other in mounts) == 1
            if (
                is_empty
                and alone
                and not _saves_files(container)
                and _SHARED & {part.lower() for part in PurePosixPath(where).parts}
            ):
                problem = f"is {where}, which is an emptyDir: its files end with the pod, and no other pod sees them"
                yield Found(path, problem, "mount the claim of a shared file system there")


_SAVES = re.compile(
    r"s3://|gs://|\b(aws|gsutil|s5cmd|rclone|rsync|azcopy|wandb|mlflow|upload\w*|push_to_hub)\b", re.IGNORECASE
)


def _saves_files(container: Container) -> bool:
    """Return whether a container's command or variables name a place to which it may save its files."""
    values = (str(value) for value, _ in container.environment.values())
    return any(map(_SAVES.search, (*container.argv, *values)))
