"""Admission policies of the teams' namespaces, in CEL: pods run as the team's user, and GPUs come from the queue.

Pod Security `restricted` admits any user that is not root, and no label of a pod says that Kueue admitted it. So the
API server asks these policies too; a user with edit rights in the namespace changes neither them nor the labels of the
namespace. https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/ (read 2026-11-28)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from training_workloads.catalog.nodes import EFA_RESOURCE, GPU_RESOURCE, GPU_TAINT_KEY
from training_workloads.mpijob.api import QUEUE_LABEL, Controller
from training_workloads.platform.platform_spec import MPI_OPERATOR_USER
from training_workloads.platform.queue_manifests import KUEUE_NAMESPACE

__all__ = ["TEAM_LABEL", "USER_LABEL", "team_admission"]

#: Labels of a team's namespace: the team's name, and the user and group of its pods.
TEAM_LABEL = "training-cluster/team"
USER_LABEL = "training-cluster/user-id"

# The controllers that make a job's pods, and Kueue, which alone starts a job. No user with rights in one namespace can
# act as a service account of another.
_JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
_KUEUE = f"system:serviceaccount:{KUEUE_NAMESPACE}:kueue-controller-manager"
_CRON_JOB_CONTROLLER = "system:serviceaccount:kube-system:cronjob-controller"
# It clears the references to owners that are gone.
_GARBAGE_COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
# All controllers of Kubernetes itself.
_KUBERNETES = "system:serviceaccount:kube-system:"

_DEVICES = [GPU_RESOURCE, EFA_RESOURCE]

# A pod that ends has its GPUs for so long, while Kueue counts them as free. Those of this project have 100 seconds.
_LONGEST_GRACE_SECONDS = 120

# NVIDIA's runtime gives a container the GPUs of this variable, which images of CUDA set to `all`, also one that
# requests none (https://github.com/NVIDIA/k8s-device-plugin, `accept-nvidia-visible-devices-envvar-when-unprivileged`).
_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_NO_DEVICES = "void"

_USER = f"int(namespaceObject.metadata.labels['{USER_LABEL}'])"


def team_admission(queue: str) -> list[dict[str, Any]]:
    """Return the policies, each with its binding, for the namespaces of all teams.

    Args:
        queue: Name of the queue that the teams' jobs name.
    """
    return [
        *_policy("team-pods", [_rule("", ["pods", "pods/ephemeralcontainers"])], _POD_VARIABLES, _pod_rules()),
        *_job_policy(_JOB, queue),
        *_job_policy(_MPI_JOB, queue),
        *_policy("team-pod-deletions", [_rule("", ["pods"], "DELETE")], {}, _POD_DELETION_RULES),
        *_policy("team-pod-evictions", [_rule("", ["pods/eviction"], "CREATE")], {}, _EVICTION_RULES),
        *_policy("team-job-deletions", _JOB_DELETIONS, {}, _JOB_DELETION_RULES),
        *_policy("team-job-parts", _JOB_PARTS, {}, _JOB_PART_RULES),
        *_policy("team-services", [_rule("", ["services"])], {}, _SERVICE_RULES),
    ]


def _policy(
    name: str, matched: list[dict[str, Any]], variables: Mapping[str, str], rules: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return a policy and its binding.

    Args:
        name: Name of both.
        matched: The requests that it decides.
        variables: Expressions by name.
        rules: Expressions that must be true, by the message of the error.
    """
    api = "admissionregistration.k8s.io/v1"
    teams = {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}
    spec = {
        # Also where an expression has no value: the request is rejected.
        "failurePolicy": "Fail",
        "matchConstraints": {"namespaceSelector": teams, "resourceRules": matched},
        "variables": [{"name": name, "expression": expression} for name, expression in variables.items()],
        "validations": [{"expression": expression, "message": message} for message, expression in rules.items()],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": binding},
    ]


def _rule(group: str, resources: list[str], *operations: str) -> dict[str, Any]:
    requests = list(operations or ("CREATE", "UPDATE"))
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": requests, "resources": resources}


def _given(path: str, condition: str) -> str:
    """Return a condition on the last field of a path, true where the field is omitted."""
    return f"(!has({path}) || {condition})"


def _containers(pod: str) -> str:
    """Return the containers of a pod's spec, with those that run before them."""
    return f"({pod}.containers + (has({pod}.initContainers) ? {pod}.initContainers : []))"


def _as_team(pod: str) -> str:
    """Return whether a pod's spec says that all of its processes run as the team's user, and as no other."""
    context = f"{pod}.securityContext"
    own = [f"has({context}.{field}) && {context}.{field} == {_USER}" for field in ("runAsUser", "runAsGroup")]
    shared = [
        _given(f"{context}.fsGroup", f"{context}.fsGroup == {_USER}"),
        _given(f"{context}.supplementalGroups", f"{context}.supplementalGroups.all(group, group == {_USER})"),
    ]
    of_containers = f"{_containers(pod)}.all(each, {_container_as_team('each')})"
    return " && ".join([f"has({context})", *own, *shared, of_containers])


def _container_as_team(container: str) -> str:
    context = f"{container}.securityContext"
    same = [_given(f"{context}.{field}", f"{context}.{field} == {_USER}") for field in ("runAsUser", "runAsGroup")]
    return _given(context, " && ".join(same))


def _on_gpu_nodes(pod: str) -> str:
    """Return whether a pod's spec requests a device, or tolerates the taint of GPU nodes."""
    requests = " || ".join(
        f"has(each.resources.{field}) && {_DEVICES}.exists(device, device in each.resources.{field})"
        for field in ("limits", "requests")
    )
    devices = f"{_containers(pod)}.exists(each, has(each.resources) && ({requests}))"
    taint = f"(!has(each.key) || each.key in ['', '{GPU_TAINT_KEY}'])"
    return f"({devices} || has({pod}.tolerations) && {pod}.tolerations.exists(each, {taint}))"


def _sees_own_gpus(container: str) -> str:
    """Return whether a container on a GPU node requests GPUs, or sees none, and names none."""
    amount = f"{container}.resources.limits['{GPU_RESOURCE}']"
    requests = (
        f"has({container}.resources) && has({container}.resources.limits) && "
        f"'{GPU_RESOURCE}' in {container}.resources.limits && string({amount}) != '0'"
    )
    names = f"variable.name == '{_VISIBLE_DEVICES}'"
    none = f"has(variable.value) && variable.value == '{_NO_DEVICES}'"
    names_none = _given(f"{container}.env", f"{container}.env.all(variable, !({names}) || {none})")
    hidden = f"has({container}.env) && {container}.env.exists(variable, {names})"
    return f"{names_none} && ({requests} || {hidden})"


def _same(path: str, empty: str) -> str:
    """Return whether a field of an object is as before."""
    now, before = (f"(has({each}.{path}) ? {each}.{path} : {empty})" for each in ("object", "oldObject"))
    return f"{now} == {before}"


def _belongs_to_an_mpi_job(made: str) -> str:
    owners = f"{made}.metadata.ownerReferences"
    return f"(has({owners}) && {owners}.exists(owner, owner.kind == 'MPIJob'))"


def _short_grace(field: str) -> str:
    return _given(field, f"{field} <= {_LONGEST_GRACE_SECONDS}")


_GRACE_MESSAGE = (
    f"a pod on GPU nodes ends within {_LONGEST_GRACE_SECONDS} seconds, as others wait for its GPUs: give "
    "terminationGracePeriodSeconds, and --grace-period of kubectl delete, no more"
)

_POD_VARIABLES = {
    "debuggers": "has(object.spec.ephemeralContainers) ? object.spec.ephemeralContainers : []",
    "gpu": _on_gpu_nodes("object.spec"),
    "made_by_a_job": f"request.userInfo.username in ['{MPI_OPERATOR_USER}', '{_JOB_CONTROLLER}']",
}

_AS_TEAM_MESSAGE = (
    f"the pods of a team run as its user: set runAsUser, runAsGroup and fsGroup to the namespace's label {USER_LABEL}, "
    "and no other in a container; jobs of this project have user_id for it"
)


def _pod_rules() -> dict[str, str]:
    was_there = f"request.operation == 'UPDATE' && {_on_gpu_nodes('oldObject.spec')}"
    all_containers = f"{_containers('object.spec')}.all(each, {_sees_own_gpus('each')})"
    all_debuggers = f"variables.debuggers.all(each, {_sees_own_gpus('each')})"
    debuggers_as_team = f"variables.debuggers.all(each, {_container_as_team('each')})"
    return {
        _AS_TEAM_MESSAGE: f"{_as_team('object.spec')} && {debuggers_as_team}",
        "a pod on GPU nodes, by its devices or its tolerations, is one of an MPIJob or a Job: create such a job": (
            f"!variables.gpu || variables.made_by_a_job || ({was_there})"
        ),
        f"each container of a pod on GPU nodes requests {GPU_RESOURCE} and does not set {_VISIBLE_DEVICES}, or sets it "
        f"to {_NO_DEVICES}": f"!variables.gpu || ({all_containers} && {all_debuggers})",
        # Its controller makes another for a pod that it does not find by them, and nothing would end this one.
        "a pod on GPU nodes stays with its job: leave its labels and ownerReferences": (
            "!variables.gpu || request.operation == 'CREATE' || variables.made_by_a_job || "
            f"request.userInfo.username in ['{_KUEUE}', '{_GARBAGE_COLLECTOR}'] || "
            f"({_same('metadata.labels', '{}')} && {_same('metadata.ownerReferences', '[]')})"
        ),
        _GRACE_MESSAGE: (
            "!variables.gpu || request.operation == 'UPDATE' || "
            f"{_short_grace('object.spec.terminationGracePeriodSeconds')}"
        ),
        # The operator stops no worker of a job beside a pod that has the name of one and is not its own.
        "names that end in -worker-<number> are those of an MPIJob's workers: give the pod another": (
            f"request.operation == 'UPDATE' || request.userInfo.username == '{MPI_OPERATOR_USER}' || "
            "!has(object.metadata.name) || !object.metadata.name.matches('-worker-[0-9]+$')"
        ),
        # Kueue's quota has the devices of resources alone.
        "a pod requests devices as resources: omit resourceClaims": _given(
            "object.spec.resourceClaims", "object.spec.resourceClaims.size() == 0"
        ),
        "the scheduler chooses the node of a pod: omit nodeName, and give a nodeSelector": (
            "request.operation == 'UPDATE' || !has(object.spec.nodeName) || object.spec.nodeName == ''"
        ),
        # A claim is of the namespace; these attributes could name the file system of any team.
        "file systems of AWS are mounted by claims: name one in place of the driver": _given(
            "object.spec.volumes",
            "object.spec.volumes.all(each, !has(each.csi) || !each.csi.driver.endsWith('.csi.aws.com'))",
        ),
    }


def _suspended(job: str, path: str) -> str:
    """Return whether a job is suspended by the field of a path; where a part of the path is omitted it is not."""
    parts = path.split(".")
    steps = [f"has({job}.{'.'.join(parts[: end + 1])})" for end in range(1, len(parts))]
    return f"({' && '.join([*steps, f'{job}.{path}'])})"


def _not_more(new: str, old: str, count: str) -> str:
    """Return whether new pods are as the old ones, and not more; one is the default of their number."""
    now, before = (_number(f"{each}.{count}") for each in (new, old))
    return f"{new}.template == {old}.template && {now} <= {before}"


def _number(path: str) -> str:
    return f"(has({path}) ? {path} : 1)"


@dataclass(frozen=True)
class _KindOfJob:
    """A kind of job, by expressions on `object`.

    Attributes:
        group: API group.
        resource: The kind's name in addresses.
        pods: The specs of its pods.
        suspend: Path of the field that holds it back.
        not_grown: Whether it has the pods of `oldObject`, or fewer.
        keeps_workers: Whether its controller stops the pods of `oldObject` too, when it is suspended.
        pods_end: Whether its pods end with it.
        controlled: Whether its controller acts on it.
    """

    group: str
    resource: str
    pods: str
    suspend: str
    not_grown: str
    keeps_workers: str = "true"
    pods_end: str = "true"
    controlled: str = "true"


_JOB = _KindOfJob(
    "batch",
    "jobs",
    pods="[object.spec.template.spec]",
    suspend="spec.suspend",
    # Kueue counts the smaller of the two, and completions of an Indexed job can grow up to parallelism.
    not_grown=_not_more("object.spec", "oldObject.spec", "parallelism") + " && (has(object.spec.completions) ? "
    "has(oldObject.spec.completions) && object.spec.completions <= oldObject.spec.completions : "
    "!has(oldObject.spec.completions))",
)
_ROLES, _POLICY = "spec.mpiReplicaSpecs", "object.spec.runPolicy"
_OPERATOR, *_ = get_args(Controller)
_MPI_JOB = _KindOfJob(
    "kubeflow.org",
    "mpijobs",
    pods=f"object.{_ROLES}.map(role, object.{_ROLES}[role].template.spec)",
    suspend="spec.runPolicy.suspend",
    not_grown=f"object.{_ROLES}.all(role, role in oldObject.{_ROLES} && "
    f"{_not_more(f'object.{_ROLES}[role]', f'oldObject.{_ROLES}[role]', 'replicas')})",
    # The operator stops as many workers as the job names.
    keeps_workers=f"oldObject.{_ROLES}.all(role, role in object.{_ROLES} && "
    f"{_number(f'oldObject.{_ROLES}[role].replicas')} <= {_number(f'object.{_ROLES}[role].replicas')})",
    # The operator's default is None: the workers run on, and Kueue counts nothing of a job that ended.
    pods_end=f"has({_POLICY}) && has({_POLICY}.cleanPodPolicy) && {_POLICY}.cleanPodPolicy in ['Running', 'All']",
    # The definition lets a user change it: another controller never stops the job.
    controlled=f"!has({_POLICY}) || !has({_POLICY}.managedBy) || {_POLICY}.managedBy == '{_OPERATOR}'",
)


def _of_no_controller_but_a_cron_job() -> str:
    owners, free = "object.metadata.ownerReferences", "!has(owner.controller) || !owner.controller"
    # A member could name a CronJob too, but is not its controller.
    kept = f"{_same('metadata.ownerReferences', '[]')} && {owners}.all(owner, {free} || owner.kind == 'CronJob')"
    return (
        f"!has({owners}) || {owners}.all(owner, {free}) || "
        f"request.userInfo.username == '{_CRON_JOB_CONTROLLER}' || request.operation == 'UPDATE' && {kept}"
    )


def _job_policy(kind: _KindOfJob, queue: str) -> list[dict[str, Any]]:
    """Return the policy of one kind of job."""
    labels = "object.metadata.labels"
    queued = f"has({labels}) && '{QUEUE_LABEL}' in {labels} && {labels}['{QUEUE_LABEL}'] == '{queue}'"
    ran = f"request.operation == 'UPDATE' && !{_suspended('oldObject', kind.suspend)}"
    on_gpu_nodes = f"exists(pod, {_on_gpu_nodes('pod')})"
    before = f"request.operation == 'UPDATE' && {kind.pods.replace('object.', 'oldObject.')}.{on_gpu_nodes}"
    variables = {
        "pods": kind.pods,
        # An MPIJob with GPUs in its launcher has a Job of the operator, whose deletion the garbage collector ends.
        "exempt": f"!(variables.pods.{on_gpu_nodes} || {before}) || "
        f"request.userInfo.username in ['{_KUEUE}', '{MPI_OPERATOR_USER}', '{_GARBAGE_COLLECTOR}']",
        "held": _suspended("object", kind.suspend),
    }
    rules = {
        _AS_TEAM_MESSAGE: f"variables.pods.all(pod, {_as_team('pod')})",
        f"a job with GPUs waits in the queue of the team: give it the label {QUEUE_LABEL}: {queue}": (
            f"variables.exempt || {queued}"
        ),
        # Kueue leaves the jobs of a job to its queue, and the operator starts a launcher that a user wrote.
        "a job with GPUs belongs to no other object, unless a CronJob made it: omit its controller": (
            f"variables.exempt || {_of_no_controller_but_a_cron_job()}"
        ),
        "the MPI operator alone controls an MPIJob with GPUs: omit managedBy": (
            f"variables.exempt || {kind.controlled}"
        ),
        # Kueue and the operator leave a job alone that is being deleted, and its pods run until it is gone.
        "nothing delays the deletion of a job with GPUs: omit its finalizers": "variables.exempt || "
        + _given("object.metadata.finalizers", "object.metadata.finalizers.all(each, each == 'foregroundDeletion')"),
        "the pods of a job with GPUs end with it: write cleanPodPolicy: Running in the runPolicy of an MPIJob": (
            f"variables.exempt || {kind.pods_end}"
        ),
        "Kueue alone starts a job with GPUs, when the queue has room: leave it suspended": (
            f"variables.exempt || variables.held || {ran}"
        ),
        "a job with GPUs that runs has the pods for which Kueue started it, or fewer: create a new job for others": (
            f"variables.exempt || variables.held || request.operation == 'CREATE' || {kind.not_grown}"
        ),
        "an MPIJob with GPUs keeps its workers until it is deleted: create a new job for fewer": (
            f"variables.exempt || request.operation == 'CREATE' || {kind.keeps_workers}"
        ),
        "a job with GPUs that runs keeps its labels, which Kueue reads: create a new job for others": (
            f"variables.exempt || !({ran}) || {_same('metadata.labels', '{}')}"
        ),
    }
    return _policy(f"team-{kind.resource}", [_rule(kind.group, [kind.resource])], variables, rules)


_OPTIONS = "request.options"
_GIVEN_GRACE = _given(_OPTIONS, _short_grace(f"{_OPTIONS}.gracePeriodSeconds"))
_POD_DELETION_RULES = {_GRACE_MESSAGE: f"!{_on_gpu_nodes('oldObject.spec')} || {_GIVEN_GRACE}"}
# It deletes the pod without asking the policy on deletions.
_EVICTION_RULES = {
    _GRACE_MESSAGE: _given("object.deleteOptions", _short_grace("object.deleteOptions.gracePeriodSeconds"))
}
_JOB_DELETIONS = [_rule(kind.group, [kind.resource], "DELETE") for kind in (_JOB, _MPI_JOB)]
_JOB_DELETION_RULES = {
    # Kubernetes keeps the pods of a Job where the request does not say it.
    "the pods of a job end with it: delete it with the propagationPolicy Background or Foreground": (
        f"has({_OPTIONS}) && has({_OPTIONS}.propagationPolicy) && "
        f"{_OPTIONS}.propagationPolicy in ['Background', 'Foreground']"
    )
}

_WRITES = ("CREATE", "UPDATE", "DELETE")
_JOB_PARTS = [_rule("", ["configmaps", "secrets", "services"], *_WRITES), _rule("batch", ["jobs"], *_WRITES)]
_JOB_PART_RULES = {
    # Where one has another owner, or is one that it cannot change, the operator does not stop the workers of a job.
    "the ConfigMap, Secret, Service and launcher of an MPIJob are the operator's: leave them, or delete the MPIJob": (
        f"request.userInfo.username in ['{_KUEUE}', '{MPI_OPERATOR_USER}'] || "
        f"request.userInfo.username.startsWith('{_KUBERNETES}') || "
        f"!(request.operation != 'DELETE' && {_belongs_to_an_mpi_job('object')}) && "
        f"!(request.operation != 'CREATE' && {_belongs_to_an_mpi_job('oldObject')})"
    )
}

_SERVICE_RULES = {
    "a Service with externalIPs takes the traffic of others to these addresses: omit externalIPs": _given(
        "object.spec.externalIPs", "object.spec.externalIPs.size() == 0"
    )
}
