"""What jobs on GPU nodes have in common: the values of a node, and the pods with GPUs and beside them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from training_workloads.catalog import InstanceType, gpu_instance_type
from training_workloads.catalog.instances import supported_gpu_type
from training_workloads.catalog.nodes import INSTANCE_TYPE_LABEL, gpu_toleration
from training_workloads.jobs.pod_template import UNPRIVILEGED, Image, Namespace, UserId, pod_template
from training_workloads.jobs.scheduling import Scheduling, not_on_spot
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.jobs.worker_resources import WorkerResources, worker_resources
from training_workloads.mpijob.api import DAY_SECONDS
from training_workloads.mpijob.bounds import DEADLINE_SECONDS
from training_workloads.mpijob.launcher_argv import START_TIMEOUT_SECONDS
from training_workloads.mpijob.programs import UID
from training_workloads.names import dns_1035_label
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, at_least, instance_of

__all__ = ["GRACE_SECONDS", "GpuNodesSpec", "GpuPods", "LimitsSpec"]

#: How long the ranks of a pod that ends may take to agree on a step and save a checkpoint: the two minutes between a
#: Spot notice and the node's end, less 5 seconds between two checks for a notice, which is AWS's advice
#: (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html), and less 15 for the
#: eviction to reach the pod and for the last lines and exit codes to leave it.
GRACE_SECONDS = 100

_SHM_MOUNT = {"name": "shm", "mountPath": "/dev/shm"}


def _gpu_type(_: str, value: Any) -> Problems:
    return supported_gpu_type(value)


class GpuNodesSpec(Spec):
    """A job on GPU nodes.

    Attributes:
        name: Name of the job.
        image: The training image.
        instance_type: EC2 type of the workers' nodes.
        efa_interfaces: EFA interfaces of each node that are used: 0 is TCP. Default: all that the type has.
        namespace: Namespace of the job. Default: that of kubectl.
        user_id: User and group of the pods, such as a team's, which owns the files that they write. Default: 1000,
            the user of the image.
        scheduling: Where and when the pods start. Default: as soon as nodes have room for them.
    """

    name: Annotated[str, Checked(dns_1035_label)]
    image: Image
    instance_type: Annotated[str, Checked(_gpu_type)]
    efa_interfaces: Annotated[int, Checked(at_least, 0)] | None = None
    namespace: Namespace | None = None
    user_id: UserId = UID
    scheduling: Annotated[Scheduling, Checked(instance_of, Scheduling)] = Scheduling()

    @cached_property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @cached_property
    def resources(self) -> WorkerResources:
        """The requests of each worker: the whole node, with the EFA interfaces that are used."""
        return worker_resources(self.instance, efa_interfaces=self.efa_interfaces)


@GpuNodesSpec.rule
def _interfaces_of_the_type(spec: GpuNodesSpec) -> Problems:
    given, existing = spec.efa_interfaces, spec.instance.efa_interfaces
    if given is not None and given > existing:
        allowed, fix = f"{spec.instance_type} has {existing}", "lower it, or omit it to use all"
        yield Problem(path=("efa_interfaces",), given=given, allowed=allowed, fix=fix)


class LimitsSpec(Spec):
    """How long a job may take.

    Attributes:
        start_timeout_seconds: Seconds within which every worker must answer, at the start and after some were lost.
            Raise it where nodes may wait for capacity. Default: 1800.
        deadline_seconds: Seconds after which the job ends, so that one that hangs does not hold its GPUs for ever.
            Default: seven days.
    """

    start_timeout_seconds: Annotated[int, Checked(at_least, 1)] = START_TIMEOUT_SECONDS
    deadline_seconds: Annotated[int, Checked(at_least, 1, *DEADLINE_SECONDS)] = 7 * DAY_SECONDS


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuPods:
    """The pods of one job.

    Attributes:
        spec: The job.
        workers: Worker pods.
        volumes: Shared file systems of the workers. Default: none.
        service_account: Service account of the pods. Default: the namespace's default.
    """

    spec: GpuNodesSpec
    workers: int
    volumes: tuple[SharedVolume, ...] = ()
    service_account: str | None = None

    def worker(
        self, command: list[str], *, container: dict[str, Any], labels: dict[str, str] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Return the template of the pods with GPUs.

        Args:
            command: What the container runs.
            container: Its ports, probes and variables.
            labels: Labels of the pods, beside those of the scheduling. Default: those of their controller.
            fields: Further fields of the pod's spec.
        """
        resources, scheduling = self.spec.resources, self.spec.scheduling
        # The name of a claim may not be allowed as that of a volume, so each gets a name in the pod.
        volumes = [(f"shared-{number}", volume) for number, volume in enumerate(self.volumes)]
        whole = {
            "name": "worker",
            "image": self.spec.image,
            "command": command,
            **container,
            "resources": resources.to_wire(),
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [_SHM_MOUNT, *(volume.to_mount(name) for name, volume in volumes)],
        }
        return pod_template(
            whole,
            service_account=self.service_account,
            user_id=self.spec.user_id,
            labels=(labels or {}) | scheduling.pod_labels(),
            annotations=scheduling.worker_annotations(),
            terminationGracePeriodSeconds=GRACE_SECONDS,
            nodeSelector={INSTANCE_TYPE_LABEL: self.spec.instance_type} | scheduling.node_selector(),
            tolerations=[gpu_toleration()],
            volumes=[_shm_volume(resources), *(volume.to_wire(name) for name, volume in volumes)],
            **scheduling.worker_fields(self.spec.name, self.workers),
            **fields,
        )

    def beside(self, container: dict[str, Any]) -> dict[str, Any]:
        """Return the template of a pod without GPUs whose loss every rank would notice: it is never on a Spot node.

        Args:
            container: In the Kubernetes wire format, without its rights.
        """
        return self._off_spot(container, self.spec.scheduling.pod_labels(), may_move=False)

    def store(self, container: dict[str, Any], labels: dict[str, str], **fields: Any) -> dict[str, Any]:
        """Return the template of a pod beside the job that stays when the job has ended, and so holds no node.

        Args:
            container: In the Kubernetes wire format, without its rights.
            labels: Labels of the pod.
            fields: Further fields of the pod's spec.
        """
        return self._off_spot(container, labels, may_move=True, **fields)

    def _off_spot(
        self, container: dict[str, Any], labels: dict[str, str], *, may_move: bool, **fields: Any
    ) -> dict[str, Any]:
        return pod_template(
            container | {"securityContext": UNPRIVILEGED},
            service_account=self.service_account,
            user_id=self.spec.user_id,
            labels=labels,
            may_move=may_move,
            terminationGracePeriodSeconds=GRACE_SECONDS,
            affinity=not_on_spot(),
            **self.spec.scheduling.pod_fields(),
            **fields,
        )


def _shm_volume(resources: WorkerResources) -> dict[str, Any]:
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{resources.shm_gib}Gi"}}
