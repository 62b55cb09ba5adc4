"""The pods of a job on GPU nodes: a launcher without GPUs, and workers whose sshd starts one rank per GPU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_workloads.catalog import InstanceType
from training_workloads.catalog.nodes import INSTANCE_TYPE_LABEL, gpu_toleration
from training_workloads.jobs.pod_template import UNPRIVILEGED, pod_template
from training_workloads.jobs.scheduling import Scheduling, not_on_spot
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.jobs.worker_resources import WorkerResources
from training_workloads.mpijob.launch_command import START_TIMEOUT_SECONDS, launcher_environment, wrapped
from training_workloads.mpijob.programs import HOME, RUN_WORKER, SSH_PORT, SSHD_CONFIG
from training_workloads.mpijob.spec import DAY_SECONDS, MpiJobSpec, ReplicaSpec, RunPolicy

__all__ = ["LAUNCHER_CPU_MILLIS", "LAUNCHER_MEMORY_GIB", "GpuPods"]

# A finished job's launcher, and with it its log, is kept for a week.
_TTL_SECONDS = 7 * DAY_SECONDS

#: Requests of the launcher, which only runs mpirun and its ssh connections.
LAUNCHER_CPU_MILLIS = 250
LAUNCHER_MEMORY_GIB = 2

_LAUNCHER_MEMORY = {"memory": f"{LAUNCHER_MEMORY_GIB}Gi"}
_LAUNCHER_RESOURCES = {"requests": {"cpu": f"{LAUNCHER_CPU_MILLIS}m", **_LAUNCHER_MEMORY}, "limits": _LAUNCHER_MEMORY}

# How often Kubernetes replaces a launcher's pod that failed. The launcher restarts the ranks itself, so these are for a
# pod that is lost with its node, and one that has decided that the job ends is repeated no more often than this.
_LAUNCHER_PODS = 2

# How long the ranks of a pod that ends may take to agree on a step and save a checkpoint: the two minutes between a
# Spot notice and the node's end, less 5 seconds between two checks for a notice, which is AWS's advice
# (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html), and less 15 for the
# eviction to reach the pod and for the last lines and exit codes to leave it.
_GRACE_SECONDS = 100

_SHM_MOUNT = {"name": "shm", "mountPath": "/dev/shm"}


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuPods:
    """The launcher and the workers of one job.

    Attributes:
        job: Name of the job.
        image: Image of both.
        instance: Type of the workers' nodes.
        resources: Requests of each worker.
        workers: Worker pods.
        volumes: Shared file systems of the workers.
        scheduling: Where and when the pods start.
        service_account: Of the pods; None for the namespace's default.
    """

    job: str
    image: str
    instance: InstanceType
    resources: WorkerResources
    workers: int
    volumes: tuple[SharedVolume, ...]
    scheduling: Scheduling
    service_account: str | None = None

    def mpi_job(
        self,
        *,
        namespace: str | None,
        command: Sequence[str],
        environment: Mapping[str, str],
        backoff_limit: int,
        deadline_seconds: int,
        start_timeout_seconds: int = START_TIMEOUT_SECONDS,
        gate: bool = True,
        min_workers: int | None = None,
    ) -> MpiJobSpec:
        """Return the MPIJob of these pods.

        Args:
            namespace: Its namespace; None for that of `kubectl`.
            command: The launch command, or a program that starts it.
            environment: Variables of the launcher for the ranks.
            backoff_limit: How often the ranks restart, and up to twice how often a lost launcher's pod is replaced.
            deadline_seconds: Seconds after which the job ends.
            start_timeout_seconds: Seconds in which the workers must answer.
            gate: Whether the launcher checks the workers before it starts the ranks.
            min_workers: Workers with which the job can start; its command waits for them. Default: all.

        Raises:
            InputError: The operator would reject the job.
        """
        options = {
            "--timeout": start_timeout_seconds,
            "--workers": min_workers,
            "--restarts": backoff_limit,
            "--gate": "yes" if gate else "no",
            **self._requested(),
        }
        return MpiJobSpec(
            name=self.job,
            namespace=namespace,
            labels=self.scheduling.labels(),
            slots_per_worker=self.resources.gpus,
            ssh_auth_mount_path=f"{HOME}/.ssh",
            # The launcher itself waits for its workers; its Job, and with it the deadline, exists from the beginning.
            launcher_creation_policy="AtStartup",
            run_policy=RunPolicy(
                backoff_limit=min(backoff_limit, _LAUNCHER_PODS),
                active_deadline_seconds=deadline_seconds,
                ttl_seconds_after_finished=_TTL_SECONDS,
                suspend=self.scheduling.suspend(),
                scheduling_policy=self.scheduling.gang_policy(self.workers if min_workers is None else min_workers),
            ),
            # Each start of the launcher is another pod, whose log is kept.
            launcher=ReplicaSpec(
                template=self._launcher(wrapped(command, options), environment), restart_policy="Never"
            ),
            # The operator replaces a missing worker, not a failed one: its sshd restarts in place.
            worker=ReplicaSpec(template=self._worker(), replicas=self.workers, restart_policy="OnFailure"),
        )

    def _requested(self) -> dict[str, Any]:
        """Return what the launcher may expect of each worker, as its options."""
        resources = self.resources
        return {
            "--gpus": resources.gpus,
            "--efa": resources.efa_interfaces or None,
            "--hugepages-mib": resources.hugepages_mib or None,
            "--shm-mib": resources.shm_gib * 1024,
            "--mount": tuple(volume.mount_path for volume in self.volumes),
        }

    def _launcher(self, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
        variables = launcher_environment(self.resources.gpus, environment)
        container = {
            "name": "launcher",
            "image": self.image,
            "command": list(command),
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            "resources": _LAUNCHER_RESOURCES,
            "securityContext": UNPRIVILEGED,
        }
        fields = self.scheduling.pod_fields() | {"affinity": not_on_spot()}
        return pod_template(
            container,
            service_account=self.service_account,
            labels=self.scheduling.pod_labels(),
            terminationGracePeriodSeconds=_GRACE_SECONDS,
            **fields,
        )

    def _worker(self) -> dict[str, Any]:
        # The name of a claim may not be allowed as that of a volume, so each gets a name in the pod.
        volumes = [(f"shared-{number}", volume) for number, volume in enumerate(self.volumes)]
        container = {
            "name": "worker",
            "image": self.image,
            "command": [*RUN_WORKER, "/usr/sbin/sshd", "-De", "-f", SSHD_CONFIG],
            "ports": [{"name": "ssh", "containerPort": SSH_PORT}],
            # Ready means that ssh answers; each probe is a line in the worker's log.
            "readinessProbe": {"tcpSocket": {"port": SSH_PORT}, "periodSeconds": 10},
            "resources": self.resources.to_wire(),
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [_SHM_MOUNT, *(volume.to_mount(name) for name, volume in volumes)],
        }
        return pod_template(
            container,
            service_account=self.service_account,
            labels=self.scheduling.pod_labels(),
            annotations=self.scheduling.worker_annotations(),
            terminationGracePeriodSeconds=_GRACE_SECONDS,
            nodeSelector={INSTANCE_TYPE_LABEL: self.instance.name} | self.scheduling.node_selector(),
            tolerations=[gpu_toleration()],
            volumes=[_shm_volume(self.resources), *(volume.to_wire(name) for name, volume in volumes)],
            **self.scheduling.worker_fields(self.job, self.workers),
        )


def _shm_volume(resources: WorkerResources) -> dict[str, Any]:
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{resources.shm_gib}Gi"}}
