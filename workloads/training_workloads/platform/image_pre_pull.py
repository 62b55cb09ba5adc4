"""Images that every GPU node pulls when it joins, before a job asks for them."""

from collections.abc import Sequence

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.nodes import GPU_PRESENT_LABEL, GPU_TAINT_KEY
from training_workloads.mpijob.programs import UID
from training_workloads.platform.volumes import DEFAULT_NAMESPACE

__all__ = ["ImagePrePullChart"]

_NAME = "image-pre-pull"

# A sleeping process needs less than Kubernetes can express.
_REQUESTS = {"cpu": "1m", "memory": "8Mi"}
_LIMITS = {"memory": "32Mi"}


class ImagePrePullChart(cdk8s.Chart):
    """A DaemonSet with a sleeping container of each image, on GPU nodes.

    A node pulls an image when the DaemonSet's pod arrives, while the device plugin still starts; and as long as the pod
    is there, the kubelet does not delete the image. On the system nodes' small disks it must be able to.
    """

    def __init__(self, scope: Construct, id: str, *, images: Sequence[str], namespace: str = DEFAULT_NAMESPACE) -> None:
        """Define the chart.

        Args:
            images: Addresses of images, each with the program `sleep`.
            namespace: Namespace of the DaemonSet.
        """
        super().__init__(scope, id)
        labels = {"app.kubernetes.io/name": _NAME}
        pod = k8s.PodSpec(
            containers=[_container(f"image-{number}", image) for number, image in enumerate(images)],
            node_selector={GPU_PRESENT_LABEL: "true"},
            tolerations=[k8s.Toleration(key=GPU_TAINT_KEY, operator="Exists", effect="NoSchedule")],
            # The first process of a container ignores SIGTERM unless it handles it, which sleep does not.
            termination_grace_period_seconds=1,
            automount_service_account_token=False,
            security_context=k8s.PodSecurityContext(
                run_as_non_root=True,
                run_as_user=UID,
                run_as_group=UID,
                seccomp_profile=k8s.SeccompProfile(type="RuntimeDefault"),
            ),
        )
        k8s.KubeDaemonSet(
            self,
            "Resource",
            metadata=k8s.ObjectMeta(name=_NAME, namespace=namespace, labels=labels),
            spec=k8s.DaemonSetSpec(
                selector=k8s.LabelSelector(match_labels=labels),
                # A new image comes to all nodes at once.
                update_strategy=k8s.DaemonSetUpdateStrategy(
                    rolling_update=k8s.RollingUpdateDaemonSet(max_unavailable=k8s.IntOrString.from_string("100%"))
                ),
                template=k8s.PodTemplateSpec(metadata=k8s.ObjectMeta(labels=labels), spec=pod),
            ),
        )


def _container(name: str, image: str) -> k8s.Container:
    return k8s.Container(
        name=name,
        image=image,
        command=["sleep", "infinity"],
        # CUDA images ask for all GPUs, which the runtime would give to a container without a request.
        env=[k8s.EnvVar(name="NVIDIA_VISIBLE_DEVICES", value="void")],
        resources=k8s.ResourceRequirements(requests=_quantities(_REQUESTS), limits=_quantities(_LIMITS)),
        security_context=k8s.SecurityContext(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=k8s.Capabilities(drop=["ALL"]),
        ),
    )


def _quantities(amounts: dict[str, str]) -> dict[str, k8s.Quantity]:
    return {name: k8s.Quantity.from_string(amount) for name, amount in amounts.items()}
