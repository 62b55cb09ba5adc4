"""TensorBoard over the shared file system, for users who may forward a port to the cluster."""

from typing import Annotated, Any

from training_workloads.catalog.nodes import DO_NOT_DISRUPT, SAFE_TO_EVICT
from training_workloads.jobs.pod_template import UNPRIVILEGED, Image, Namespace, UserId, pod_template
from training_workloads.jobs.volumes import RUNS_DIRECTORY, Folder, SharedVolume
from training_workloads.mpijob.programs import UID
from training_workloads.names import dns_1035_label
from training_workloads.spec import Checked, Spec
from training_workloads.validation import instance_of

__all__ = ["TENSORBOARD_PORT", "TensorBoardSpec"]

#: TensorBoard's own default.
TENSORBOARD_PORT = 6006

_NAME_LABEL = "app.kubernetes.io/name"
_SHARED = "shared"


class TensorBoardSpec(Spec):
    """A TensorBoard that shows every run below a folder: `kubectl port-forward service/<name> 6006`.

    TensorBoard has no password, so only a forwarded port reaches it: there is no load balancer, and a policy rejects
    other pods.

    Attributes:
        image: The training image, which contains TensorBoard.
        name: Name of the Deployment, the Service and the policy.
        folder: Folder of the file system with the runs. Default: that of all jobs of this project.
        volume: The shared file system. Default: the claim of the cluster's Lustre file system.
        namespace: Namespace of the three objects. Default: that of kubectl.
        user_id: User and group of the pod, such as the team's whose runs it shows. Default: 1000, that of the image.
    """

    image: Image
    name: Annotated[str, Checked(dns_1035_label)] = "tensorboard"
    folder: Folder = RUNS_DIRECTORY
    volume: Annotated[SharedVolume, Checked(instance_of, SharedVolume)] = SharedVolume()
    namespace: Namespace | None = None
    user_id: UserId = UID

    @property
    def labels(self) -> dict[str, str]:
        """Labels by which Service and policy select the pod."""
        return {_NAME_LABEL: self.name}

    def deployment(self) -> dict[str, Any]:
        """Return the Deployment's `spec` in the wire format."""
        template = pod_template(
            self._container(),
            service_account=None,
            user_id=self.user_id,
            labels=self.labels,
            volumes=[self.volume.to_wire(_SHARED)],
        )
        # Unlike a job it may move to another node at any time.
        annotations = template["metadata"].pop("annotations")
        if kept := {key: value for key, value in annotations.items() if key not in (SAFE_TO_EVICT, DO_NOT_DISRUPT)}:
            template["metadata"]["annotations"] = kept
        return {"replicas": 1, "selector": {"matchLabels": self.labels}, "template": template}

    def service(self) -> dict[str, Any]:
        """Return the Service's `spec`."""
        ports = [{"name": "http", "port": TENSORBOARD_PORT, "targetPort": "http"}]
        return {"type": "ClusterIP", "selector": self.labels, "ports": ports}

    def network_policy(self) -> dict[str, Any]:
        """Return the NetworkPolicy's `spec`: a forwarded port comes from the pod's node, which no policy rejects."""
        return {"podSelector": {"matchLabels": self.labels}, "policyTypes": ["Ingress"], "ingress": []}

    def _container(self) -> dict[str, Any]:
        return {
            "name": "tensorboard",
            "image": self.image,
            "command": [
                "tensorboard",
                "--logdir",
                self.volume.path(self.folder),
                "--host",
                "0.0.0.0",
                "--port",
                str(TENSORBOARD_PORT),
            ],
            "ports": [{"name": "http", "containerPort": TENSORBOARD_PORT}],
            "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
            "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [{**self.volume.to_mount(_SHARED), "readOnly": True}],
        }
