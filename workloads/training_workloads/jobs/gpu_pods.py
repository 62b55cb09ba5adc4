"""The pods of a job on GPU nodes: those that hold its ranks, and one beside them that Spot nodes must not take."""

from dataclasses import dataclass
from typing import Any

from training_workloads.catalog import InstanceType
from training_workloads.catalog.nodes import INSTANCE_TYPE_LABEL, gpu_toleration
from training_workloads.jobs.pod_template import UNPRIVILEGED, pod_template
from training_workloads.jobs.scheduling import Scheduling, not_on_spot
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.jobs.worker_resources import WorkerResources

__all__ = ["GRACE_SECONDS", "GpuPods"]

#: How long the ranks of a pod that ends may take to agree on a step and save a checkpoint: the two minutes between a
#: Spot notice and the node's end, less 5 seconds between two checks for a notice, which is AWS's advice
#: (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html), and less 15 for the
#: eviction to reach the pod and for the last lines and exit codes to leave it.
GRACE_SECONDS = 100

_SHM_MOUNT = {"name": "shm", "mountPath": "/dev/shm"}


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuPods:
    """The pods of one job.

    Attributes:
        job: Name of the job.
        image: Image of the pods.
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

    def worker(
        self, command: list[str], *, container: dict[str, Any], labels: dict[str, str] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Return the template of the pods with GPUs.

        Args:
            command: What the container runs.
            container: Its ports, probes and variables.
            labels: Of the pods, beside those of the scheduling. Default: those of their controller.
            fields: Further fields of the pod's spec.
        """
        # The name of a claim may not be allowed as that of a volume, so each gets a name in the pod.
        volumes = [(f"shared-{number}", volume) for number, volume in enumerate(self.volumes)]
        whole = {
            "name": "worker",
            "image": self.image,
            "command": command,
            **container,
            "resources": self.resources.to_wire(),
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [_SHM_MOUNT, *(volume.to_mount(name) for name, volume in volumes)],
        }
        return pod_template(
            whole,
            service_account=self.service_account,
            labels=(labels or {}) | self.scheduling.pod_labels(),
            annotations=self.scheduling.worker_annotations(),
            terminationGracePeriodSeconds=GRACE_SECONDS,
            nodeSelector={INSTANCE_TYPE_LABEL: self.instance.name} | self.scheduling.node_selector(),
            tolerations=[gpu_toleration()],
            volumes=[_shm_volume(self.resources), *(volume.to_wire(name) for name, volume in volumes)],
            **self.scheduling.worker_fields(self.job, self.workers),
            **fields,
        )

    def beside(self, container: dict[str, Any]) -> dict[str, Any]:
        """Return the template of a pod without GPUs whose loss every rank would notice: it is never on a Spot node.

        Args:
            container: In the Kubernetes wire format, without its rights.
        """
        return self._off_spot(container, self.scheduling.pod_labels(), may_move=False)

    def store(self, container: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
        """Return the template of a pod beside the job that stays when the job has ended, and so holds no node.

        Args:
            container: In the Kubernetes wire format, without its rights.
            labels: Of the pod.
        """
        return self._off_spot(container, labels, may_move=True)

    def _off_spot(self, container: dict[str, Any], labels: dict[str, str], *, may_move: bool) -> dict[str, Any]:
        return pod_template(
            container | {"securityContext": UNPRIVILEGED},
            service_account=self.service_account,
            labels=labels,
            may_move=may_move,
            terminationGracePeriodSeconds=GRACE_SECONDS,
            affinity=not_on_spot(),
            **self.scheduling.pod_fields(),
        )


def _shm_volume(resources: WorkerResources) -> dict[str, Any]:
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{resources.shm_gib}Gi"}}
