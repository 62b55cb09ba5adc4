"""The MPIJob of a job's pods: a launcher that starts the ranks by ssh, and workers that run sshd."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from training_workloads.jobs.cost_cap import cap_options
from training_workloads.jobs.gpu_pods import GpuPods, LimitsSpec
from training_workloads.mpijob.api import DAY_SECONDS
from training_workloads.mpijob.launcher_argv import launcher_environment, wrapped
from training_workloads.mpijob.mpi_job import MpiJobSpec, ReplicaSpec, RunPolicy
from training_workloads.mpijob.programs import HOME, RUN_WORKER, SSH_PORT, SSHD_CONFIG
from training_workloads.spec import Checked
from training_workloads.validation import at_least

__all__ = ["LAUNCHER_CPU_MILLIS", "LAUNCHER_MEMORY_GIB", "SSH_KEYS", "LauncherSpec", "mpi_job"]

# A finished job's launcher, and with it its log, is kept for a week.
_TTL_SECONDS = 7 * DAY_SECONDS

#: Where the operator mounts the job's ssh keys.
SSH_KEYS = f"{HOME}/.ssh"

#: Requests of the launcher, which only runs mpirun and its ssh connections.
LAUNCHER_CPU_MILLIS = 250
LAUNCHER_MEMORY_GIB = 2

_LAUNCHER_MEMORY = {"memory": f"{LAUNCHER_MEMORY_GIB}Gi"}
_LAUNCHER_RESOURCES = {"requests": {"cpu": f"{LAUNCHER_CPU_MILLIS}m", **_LAUNCHER_MEMORY}, "limits": _LAUNCHER_MEMORY}

# How often Kubernetes replaces a launcher's pod that failed. The launcher restarts the ranks itself, so these are for a
# pod that is lost with its node, and one that has decided that the job ends is repeated no more often than this.
_LAUNCHER_PODS = 2

# What a worker's container has beside its command: ready means that ssh answers; each probe is a line in its log. Under
# a definition without defaults Kueue starts no job whose port has no protocol.
_SSHD = {
    "ports": [{"name": "ssh", "containerPort": SSH_PORT, "protocol": "TCP"}],
    "readinessProbe": {"tcpSocket": {"port": SSH_PORT}, "periodSeconds": 10},
}


class LauncherSpec(LimitsSpec):
    """How the launcher of an MPIJob starts the ranks.

    Attributes:
        backoff_limit: How often the launcher restarts the ranks; each start resumes from the newest checkpoint. A
            lost pod of the launcher is replaced this often too, but at most twice: the third loss ends the job.
        gate: Whether the launcher checks every worker before it starts the ranks: GPUs, EFA, memory, disks and clock.
    """

    backoff_limit: Annotated[int, Checked(at_least, 0)] = 10
    gate: bool = True


def mpi_job(
    pods: GpuPods,
    launcher: LauncherSpec,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    min_workers: int | None = None,
    max_cost: float | None = None,
) -> MpiJobSpec:
    """Return the MPIJob of a job's pods.

    Args:
        pods: Its pods.
        launcher: How it starts the ranks.
        command: The launch command, or a program that starts it.
        environment: Variables of the launcher for the ranks.
        min_workers: Workers with which the job can start; its command waits for them. Default: all.
        max_cost: Dollars that the run may cost. Default: no limit.

    Raises:
        InputError: The operator would reject the job.
    """
    scheduling = pods.spec.scheduling
    options = {
        "--timeout": launcher.start_timeout_seconds,
        "--workers": min_workers,
        "--restarts": launcher.backoff_limit,
        **cap_options(max_cost, pods.spec.instance, pods.spec.resources.gpus),
        "--gate": "yes" if launcher.gate else "no",
        **_requested(pods),
    }
    return MpiJobSpec(
        name=pods.spec.name,
        namespace=pods.spec.namespace,
        labels=scheduling.labels(),
        slots_per_worker=pods.spec.resources.gpus,
        ssh_auth_mount_path=SSH_KEYS,
        # The launcher itself waits for its workers; its Job, and with it the deadline, exists from the beginning.
        launcher_creation_policy="AtStartup",
        run_policy=RunPolicy(
            backoff_limit=min(launcher.backoff_limit, _LAUNCHER_PODS),
            active_deadline_seconds=launcher.deadline_seconds,
            ttl_seconds_after_finished=_TTL_SECONDS,
            suspend=scheduling.suspend(),
            scheduling_policy=scheduling.gang_policy(pods.workers if min_workers is None else min_workers),
        ),
        # Each start of the launcher is another pod, whose log is kept.
        launcher=ReplicaSpec(template=_launcher(pods, wrapped(command, options), environment), restart_policy="Never"),
        # The operator replaces a missing worker, not a failed one: its sshd restarts in place.
        worker=ReplicaSpec(template=_worker(pods), replicas=pods.workers, restart_policy="OnFailure"),
    )


def _requested(pods: GpuPods) -> dict[str, Any]:
    """Return the resources of each worker that the launcher checks, as its options."""
    resources = pods.spec.resources
    return {
        "--gpus": resources.gpus,
        "--efa": resources.efa_interfaces or None,
        "--hugepages-mib": resources.hugepages_mib or None,
        "--shm-mib": resources.shm_gib * 1024,
        "--mount": tuple(volume.mount_path for volume in pods.volumes),
    }


def _launcher(pods: GpuPods, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    variables = launcher_environment(pods.spec.resources.gpus, environment)
    container = {
        "name": "launcher",
        "image": pods.spec.image,
        "command": list(command),
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "resources": _LAUNCHER_RESOURCES,
    }
    return pods.beside(container)


def _worker(pods: GpuPods) -> dict[str, Any]:
    return pods.worker([*RUN_WORKER, "/usr/sbin/sshd", "-De", "-f", SSHD_CONFIG], container=_SSHD, ssh=True)
