"""The MPI operator as charts: its resource definition, its permissions and its Deployment."""

from typing import Any

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.images import MPI_OPERATOR_IMAGE
from training_workloads.mpijob.definition import mpi_job_definition
from training_workloads.names import dns_label
from training_workloads.platform.mirror import mirrored
from training_workloads.platform.platform_spec import MPI_OPERATOR_NAMESPACE
from training_workloads.validation import enforce

__all__ = ["MpiJobDefinitionChart", "MpiOperatorChart"]

_NAME = "mpi-operator"
_LABELS = {"app.kubernetes.io/name": _NAME}
_UID = 65532
_HEALTH_PORT = 8080


class MpiJobDefinitionChart(cdk8s.Chart):
    """The MPIJob resource definition, apart so that it can be applied before anything that needs it."""

    def __init__(self, scope: Construct, id: str) -> None:
        """Define the chart."""
        super().__init__(scope, id)
        definition = mpi_job_definition()
        crd = cdk8s.ApiObject(
            self,
            "Definition",
            api_version="apiextensions.k8s.io/v1",
            kind="CustomResourceDefinition",
            metadata=cdk8s.ApiObjectMetadata(name=definition["metadata"]["name"]),
        )
        crd.add_json_patch(cdk8s.JsonPatch.add("/spec", definition["spec"]))


class MpiOperatorChart(cdk8s.Chart):
    """Namespace, service account, permissions and Deployment of the operator."""

    def __init__(
        self, scope: Construct, id: str, *, gang_scheduler: str | None = None, mirror: str | None = None
    ) -> None:
        """Define the chart.

        Args:
            gang_scheduler: Which scheduler starts all workers of a job together or none: `volcano`, or the name of the
                cluster's scheduler with the coscheduling plugin (https://github.com/kubernetes-sigs/scheduler-plugins).
                It must be installed. Default: none, and the gangs of jobs have no effect.
            mirror: Registry with a copy of the image. Default: that of the operator's project.

        Raises:
            InputError: The scheduler's name is not one of Kubernetes.
        """
        super().__init__(scope, id)
        if gang_scheduler is not None:
            enforce(gang_scheduler, (lambda name: dns_label("gang_scheduler", name),))
        k8s.KubeNamespace(self, "Namespace", metadata=k8s.ObjectMeta(name=MPI_OPERATOR_NAMESPACE))
        k8s.KubeServiceAccount(self, "ServiceAccount", metadata=_meta(MPI_OPERATOR_NAMESPACE))
        k8s.KubeClusterRole(self, "Permissions", metadata=_meta(), rules=_operator_rules())
        k8s.KubeClusterRoleBinding(
            self,
            "Binding",
            metadata=_meta(),
            role_ref=k8s.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=_NAME),
            subjects=[k8s.Subject(kind="ServiceAccount", name=_NAME, namespace=MPI_OPERATOR_NAMESPACE)],
        )
        for role, aggregated_to, verbs in _USER_ROLES:
            labels = {f"rbac.authorization.k8s.io/aggregate-to-{name}": "true" for name in aggregated_to}
            k8s.KubeClusterRole(
                self,
                f"{role.capitalize()}Role",
                metadata=k8s.ObjectMeta(name=f"kubeflow-mpijobs-{role}", labels=labels),
                rules=[_rule("kubeflow.org", ["mpijobs", "mpijobs/status"], verbs)],
            )
        k8s.KubeDeployment(
            self, "Deployment", metadata=_meta(MPI_OPERATOR_NAMESPACE), spec=_deployment(gang_scheduler, mirror)
        )


_READ = ["get", "list", "watch"]
_WRITE = [*_READ, "create", "update", "patch", "delete"]

# Who may use MPIJobs without being an administrator: the cluster's own admin, edit and view roles take these up.
_USER_ROLES = (("admin", ("admin",), _WRITE), ("edit", ("edit",), _WRITE), ("view", ("view",), _READ))


def _meta(namespace: str | None = None) -> k8s.ObjectMeta:
    return k8s.ObjectMeta(name=_NAME, namespace=namespace, labels=_LABELS)


def _rule(group: str, resources: list[str], verbs: list[str]) -> k8s.PolicyRule:
    return k8s.PolicyRule(api_groups=[group], resources=resources, verbs=verbs)


def _operator_rules() -> list[k8s.PolicyRule]:
    """Return the permissions of the controller, with `jobs/status`: without that a suspended job cannot resume.

    The release lacks it: https://github.com/kubeflow/mpi-operator/pull/830
    """
    podgroup_apis = ["scheduling.incubator.k8s.io", "scheduling.sigs.dev", "scheduling.volcano.sh"]
    return [
        _rule("", ["configmaps", "secrets", "services"], ["create", "list", "watch", "update"]),
        _rule("", ["pods"], ["create", "get", "list", "watch", "delete", "update", "patch"]),
        _rule("", ["pods/exec"], ["create"]),
        _rule("", ["endpoints"], ["create", "get", "update"]),
        _rule("", ["events"], ["create", "patch"]),
        _rule("batch", ["jobs"], ["create", "list", "update", "watch"]),
        _rule("batch", ["jobs/status"], ["get", "patch", "update"]),
        _rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["create", "get"]),
        _rule("kubeflow.org", ["mpijobs", "mpijobs/finalizers", "mpijobs/status"], ["*"]),
        _rule("coordination.k8s.io", ["leases"], ["*"]),
        k8s.PolicyRule(api_groups=podgroup_apis, resources=["queues", "podgroups"], verbs=["*"]),
        _rule("scheduling.x-k8s.io", ["podgroups"], ["*"]),
        _rule("scheduling.k8s.io", ["priorityclasses"], _READ),
    ]


def _deployment(gang_scheduler: str | None, mirror: str | None) -> k8s.DeploymentSpec:
    return k8s.DeploymentSpec(
        replicas=1,
        selector=k8s.LabelSelector(match_labels=_LABELS),
        template=k8s.PodTemplateSpec(
            metadata=k8s.ObjectMeta(labels=_LABELS),
            spec=k8s.PodSpec(
                service_account_name=_NAME,
                security_context=k8s.PodSecurityContext(
                    run_as_non_root=True,
                    run_as_user=_UID,
                    seccomp_profile=k8s.SeccompProfile(type="RuntimeDefault"),
                ),
                containers=[_container(gang_scheduler, str(mirrored(MPI_OPERATOR_IMAGE, mirror)))],
            ),
        ),
    )


def _container(gang_scheduler: str | None, image: str) -> k8s.Container:
    health: dict[str, Any] = {
        "http_get": k8s.HttpGetAction(path="/healthz", port=k8s.IntOrString.from_number(_HEALTH_PORT))
    }
    return k8s.Container(
        name=_NAME,
        image=image,
        args=[
            "-alsologtostderr",
            # The lock must be in the namespace of the service account and its permissions.
            f"--lock-namespace={MPI_OPERATOR_NAMESPACE}",
            *([f"--gang-scheduling={gang_scheduler}"] if gang_scheduler else []),
        ],
        ports=[k8s.ContainerPort(name="health", container_port=_HEALTH_PORT)],
        liveness_probe=k8s.Probe(**health, initial_delay_seconds=15, period_seconds=20),
        readiness_probe=k8s.Probe(**health, period_seconds=10),
        resources=k8s.ResourceRequirements(
            requests={"cpu": k8s.Quantity.from_string("100m"), "memory": k8s.Quantity.from_string("128Mi")},
            # It keeps every Secret and ConfigMap of the cluster in memory.
            limits={"memory": k8s.Quantity.from_string("1Gi")},
        ),
        security_context=k8s.SecurityContext(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=k8s.Capabilities(drop=["ALL"]),
        ),
    )
