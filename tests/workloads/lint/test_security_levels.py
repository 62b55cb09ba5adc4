"""The group `security`: which Pod Security level a pod needs, for each control of the standards, and dangerous pods."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cdk8s
import pytest
import yaml

from training_workloads import InputError
from training_workloads.jobs.constructs import define_job
from training_workloads.lint.pod_security import needed_level
from training_workloads.lint.run_rules import lint_documents, lint_read, pod_groups
from training_workloads.lint.selection import SECURITY_IDS, chosen_rules
from training_workloads.manifests.documents import read_documents
from training_workloads.manifests.pod_templates import POD_KINDS
from training_workloads.recipes import NEEDS, RECIPES, recipe

Change = Callable[[dict[str, Any]], Any]

NEEDED = {"source": "s3://bucket/data/", "service_account": "stage"}

RIGHT: dict[str, Any] = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "a",
            "image": "image:1",
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}


def pod(**changes: Any) -> dict[str, Any]:
    """Return a Pod: `pod_…` and `container_…` change a security context, `in_container_…` a container."""
    spec = copy.deepcopy(RIGHT)
    for name, value in changes.items():
        field = name.removeprefix("pod_").removeprefix("in_").removeprefix("container_")
        container = spec["containers"][0]
        if name.startswith("pod_"):
            spec["securityContext"][field] = value
        elif name.startswith("in_container_"):
            container[field] = value
        elif name.startswith("container_"):
            container["securityContext"][field] = value
        else:
            spec[field] = value
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def level(document: dict[str, Any]) -> list[str]:
    return [needed_level(pods) for pods in pod_groups(document)]


def found(*documents: dict[str, Any]) -> list[tuple[str, str]]:
    """Return rule and path of each finding of the group in the first object."""
    findings = lint_documents(documents, security=True)[0]
    return [(each.rule, each.where) for each in findings if each.rule in SECURITY_IDS]


HTTP = {"httpGet": {"host": "10.0.0.1", "port": 80}}
TCP = {"tcpSocket": {"host": "10.0.0.1", "port": 80}}

#: What `baseline` rejects, by control, with the place of the finding.
PRIVILEGED: list[tuple[dict[str, Any], str]] = [
    ({"pod_windowsOptions": {"hostProcess": True}}, "spec.securityContext.windowsOptions.hostProcess"),
    ({"container_windowsOptions": {"hostProcess": True}}, "CONTEXT.windowsOptions.hostProcess"),
    ({"hostNetwork": True}, "spec.hostNetwork"),
    ({"hostPID": True}, "spec.hostPID"),
    ({"hostIPC": True}, "spec.hostIPC"),
    ({"container_privileged": True}, "CONTEXT.privileged"),
    ({"container_capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}, "CONTEXT.capabilities.add[0]"),
    ({"container_capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}, "CONTEXT.capabilities.add[0]"),
    ({"container_capabilities": {"drop": ["ALL"], "add": ["NET_RAW"]}}, "CONTEXT.capabilities.add[0]"),
    # The plugin compares the words, and so does the runtime.
    ({"container_capabilities": {"drop": ["ALL"], "add": ["CAP_CHOWN"]}}, "CONTEXT.capabilities.add[0]"),
    ({"volumes": [{"name": "v", "hostPath": {"path": "/dev/infiniband"}}]}, "spec.volumes[0].hostPath.path"),
    ({"in_container_ports": [{"containerPort": 1, "hostPort": 1}]}, "spec.containers[0].ports[0].hostPort"),
    ({"in_container_livenessProbe": HTTP}, "spec.containers[0].livenessProbe.httpGet.host"),
    ({"in_container_readinessProbe": TCP}, "spec.containers[0].readinessProbe.tcpSocket.host"),
    ({"in_container_startupProbe": TCP}, "spec.containers[0].startupProbe.tcpSocket.host"),
    ({"in_container_lifecycle": {"preStop": HTTP}}, "spec.containers[0].lifecycle.preStop.httpGet.host"),
    ({"in_container_lifecycle": {"postStart": TCP}}, "spec.containers[0].lifecycle.postStart.tcpSocket.host"),
    ({"pod_appArmorProfile": {"type": "Unconfined"}}, "spec.securityContext.appArmorProfile.type"),
    ({"container_appArmorProfile": {"type": "Unconfined"}}, "CONTEXT.appArmorProfile.type"),
    ({"pod_seLinuxOptions": {"type": "spc_t"}}, "spec.securityContext.seLinuxOptions.type"),
    ({"container_seLinuxOptions": {"user": "u"}}, "CONTEXT.seLinuxOptions.user"),
    ({"container_seLinuxOptions": {"role": "r"}}, "CONTEXT.seLinuxOptions.role"),
    ({"container_procMount": "Unmasked"}, "CONTEXT.procMount"),
    ({"pod_seccompProfile": {"type": "Unconfined"}}, "spec.securityContext.seccompProfile.type"),
    ({"container_seccompProfile": {"type": "Unconfined"}}, "CONTEXT.seccompProfile.type"),
    ({"pod_sysctls": [{"name": "kernel.msgmax", "value": "1"}]}, "spec.securityContext.sysctls[0].name"),
]

#: What `restricted` rejects and `baseline` admits.
BASELINE: list[tuple[dict[str, Any], str]] = [
    ({"volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}]}, "spec.volumes[0].nfs"),
    ({"container_allowPrivilegeEscalation": True}, "CONTEXT.allowPrivilegeEscalation"),
    ({"container_allowPrivilegeEscalation": None}, "CONTEXT.allowPrivilegeEscalation"),
    ({"pod_runAsNonRoot": None}, "spec.securityContext.runAsNonRoot"),
    ({"pod_runAsNonRoot": False}, "spec.securityContext.runAsNonRoot"),
    # As the plugin: also where every container says otherwise.
    ({"pod_runAsNonRoot": False, "container_runAsNonRoot": True}, "spec.securityContext.runAsNonRoot"),
    ({"container_runAsNonRoot": False}, "CONTEXT.runAsNonRoot"),
    ({"pod_runAsUser": 0}, "spec.securityContext.runAsUser"),
    ({"container_runAsUser": 0}, "CONTEXT.runAsUser"),
    ({"pod_seccompProfile": None}, "spec.securityContext.seccompProfile.type"),
    ({"container_capabilities": None}, "CONTEXT.capabilities.drop"),
    ({"container_capabilities": {"drop": ["NET_RAW"]}}, "CONTEXT.capabilities.drop"),
    ({"container_capabilities": {"drop": ["all"]}}, "CONTEXT.capabilities.drop"),
    ({"container_capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}, "CONTEXT.capabilities.add[0]"),
]

#: What every level admits.
RESTRICTED: list[dict[str, Any]] = [
    {},
    {"hostNetwork": False, "hostPID": None},
    {"container_privileged": False},
    {"container_capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
    {"in_container_ports": [{"containerPort": 1, "hostPort": 0}]},
    {"in_container_livenessProbe": {"httpGet": {"host": "", "port": 80}}},
    {"pod_appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}},
    {"pod_seLinuxOptions": {"type": "container_kvm_t", "level": "s0:c1"}},
    {"container_procMount": "Default"},
    {"pod_seccompProfile": {"type": "Localhost", "localhostProfile": "a"}},
    {"pod_seccompProfile": None, "container_seccompProfile": {"type": "RuntimeDefault"}},
    {"pod_runAsNonRoot": None, "container_runAsNonRoot": True},
    {"pod_runAsUser": 1000, "container_runAsUser": 1001},
    {"pod_sysctls": [{"name": "net.ipv4.tcp_keepalive_time", "value": "60"}]},
    {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "persistentVolumeClaim": {"claimName": "c"}}]},
    {"volumes": [{"name": "v", "csi": {"driver": "d"}}, {"name": "w", "projected": {}}]},
    # Root in a namespace of users is no root of the node.
    {"hostUsers": False, "pod_runAsNonRoot": None, "container_runAsUser": 0, "container_procMount": "Unmasked"},
    # Linux' fields have no meaning there.
    {"os": {"name": "windows"}, "pod_seccompProfile": None, "container_allowPrivilegeEscalation": None},
    {"hostNetwork": "$HOST_NETWORK", "container_allowPrivilegeEscalation": "{{ escalation }}"},
]


def place(path: str) -> str:
    return path.replace("CONTEXT", "spec.containers[0].securityContext")


@pytest.mark.parametrize(("changes", "path"), PRIVILEGED)
def test_each_control_of_baseline_is_seen(changes: dict[str, Any], path: str) -> None:
    assert level(pod(**changes)) == ["privileged"]
    assert ("needs-privileged", place(path)) in found(pod(**changes))


@pytest.mark.parametrize(("changes", "path"), BASELINE)
def test_each_control_of_restricted_is_seen(changes: dict[str, Any], path: str) -> None:
    assert level(pod(**changes)) == ["baseline"]
    assert found(pod(**changes)) == [("needs-baseline", place(path))]


@pytest.mark.parametrize("changes", RESTRICTED)
def test_what_restricted_admits_is_no_finding(changes: dict[str, Any]) -> None:
    assert level(pod(**changes)) == ["restricted"]
    assert found(pod(**changes)) == []


def test_old_annotations_and_every_kind_of_container_count() -> None:
    annotated = pod()
    annotated["metadata"]["annotations"] = {
        "container.apparmor.security.beta.kubernetes.io/a": "unconfined",
        "container.apparmor.security.beta.kubernetes.io/b": "localhost/mine",
    }
    place = "metadata.annotations['container.apparmor.security.beta.kubernetes.io/a']"
    assert found(annotated) == [("needs-privileged", place)]
    for kind in ("initContainers", "ephemeralContainers"):
        (container,) = copy.deepcopy(RIGHT["containers"])
        container["securityContext"]["privileged"] = True
        assert found(pod(**{kind: [container]})) == [("needs-privileged", f"spec.{kind}[0].securityContext.privileged")]


def templates() -> dict[str, dict[str, Any]]:
    """Return an object of every kind with the pod of a privileged container."""
    template = {"metadata": {}, "spec": pod(container_privileged=True)["spec"]}
    job = {"spec": {"template": template}}
    of_kubeflow: dict[str, Any] = {
        "MPIJob": {
            "apiVersion": "kubeflow.org/v2beta1",
            "spec": {"mpiReplicaSpecs": {"Worker": {"template": template}}},
        },
        "PyTorchJob": {
            "apiVersion": "kubeflow.org/v1",
            "spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}},
        },
        "TFJob": {"apiVersion": "kubeflow.org/v1", "spec": {"tfReplicaSpecs": {"Worker": {"template": template}}}},
        "Job": {"apiVersion": "batch/v1", **job},
        "JobSet": {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "spec": {"replicatedJobs": [{"name": "a", "template": job}]},
        },
        "TrainingRuntime": {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "spec": {"template": {"spec": {"replicatedJobs": [{"name": "a", "template": job}]}}},
        },
        "CronJob": {"apiVersion": "batch/v1", "spec": {"jobTemplate": job}},
        "Pod": {"apiVersion": "v1", **template},
        "PodTemplate": {"apiVersion": "v1", "template": template},
        "ReplicationController": {"apiVersion": "v1", **job},
    }
    others = {kind: {"apiVersion": "apps/v1", **job} for kind in POD_KINDS if kind not in of_kubeflow}
    return {kind: {"kind": kind, **content} for kind, content in {**of_kubeflow, **others}.items()}


@pytest.mark.parametrize("document", templates().values(), ids=templates())
def test_the_pods_of_every_kind_are_judged(document: dict[str, Any]) -> None:
    assert level(document) == ["privileged"]
    ((rule, where),) = found(document)
    assert rule == "needs-privileged"
    assert where.endswith("spec.containers[0].securityContext.privileged")


def test_what_a_runtime_may_have_is_not_judged() -> None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "spec": {"podSpecOverrides": [{"containers": [{"securityContext": {"privileged": True}}]}]},
    }
    where = "spec.podSpecOverrides[0].containers[0].securityContext.privileged"
    assert found(job) == [("needs-privileged", where)]
    job["spec"] = {"podSpecOverrides": [{"containers": [{"image": "i:1"}]}], "trainer": {"image": "i:1"}}
    assert found(job) == []


@pytest.mark.parametrize("name", RECIPES)
def test_every_pod_of_a_recipe_needs_restricted(name: str) -> None:
    chart = cdk8s.Testing.chart()
    needed: dict[str, Any] = {field: NEEDED[field] for field in NEEDS.get(name, {})}
    define_job(chart, "Job", spec=recipe(name, **needed))
    documents = cdk8s.Testing.synth(chart)
    levels = [each for document in documents for each in level(document)]
    assert levels == ["restricted"] * len(levels)
    assert levels
    assert [
        one for found in lint_documents(documents, security=True) for one in found if one.rule in SECURITY_IDS
    ] == []


def with_host_path(path: str, **mount: str) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/v", **mount}]
    return pod(volumes=[{"name": "v", "hostPath": {"path": path}}], in_container_volumeMounts=mounts)


@pytest.mark.parametrize(
    ("path", "is_found"),
    [
        ("/run/containerd/containerd.sock", True),
        ("/var/run/docker.sock", True),
        ("/var/run/", True),
        ("/run/crio", True),
        ("/", True),
        ("/var", False),
        ("/runs", False),
        ("/run/containerd/containerd.sock.ttrpc", False),
        ("/dev/infiniband", False),
    ],
)
def test_a_socket_of_the_runtime_is_seen(path: str, is_found: bool) -> None:
    assert (("runtime-socket", "spec.volumes[0].hostPath.path") in found(with_host_path(path))) == is_found


def test_a_volume_that_no_container_mounts_or_a_part_of_it_is_no_socket() -> None:
    unused = pod(volumes=[{"name": "v", "hostPath": {"path": "/run"}}])
    for document in (unused, with_host_path("/", subPath="data")):
        assert "runtime-socket" not in dict(found(document))


@pytest.mark.parametrize(
    ("name", "is_found"), [("system-node-critical", True), ("system-cluster-critical", True), ("training", False)]
)
def test_a_priority_of_the_system_is_seen(name: str, is_found: bool) -> None:
    assert found(pod(priorityClassName=name)) == [("system-priority", "spec.priorityClassName")] * is_found


def binding(role: str, kind: str = "ClusterRole", account: str = "default", **subject: str) -> dict[str, Any]:
    return {
        "kind": "ClusterRoleBinding",
        "roleRef": {"kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, **subject}],
    }


WILD = {"kind": "ClusterRole", "metadata": {"name": "wild"}, "rules": [{"verbs": ["*"], "resources": ["*"]}]}
NARROW = {"kind": "ClusterRole", "metadata": {"name": "narrow"}, "rules": [{"verbs": ["*"], "resources": ["pods"]}]}
MUTE = {"kind": "ServiceAccount", "metadata": {"name": "default"}, "automountServiceAccountToken": False}


@pytest.mark.parametrize(
    ("changes", "beside", "is_found"),
    [
        ({}, [binding("cluster-admin")], True),
        ({"serviceAccountName": "a"}, [binding("cluster-admin", account="a", namespace="team")], True),
        ({}, [binding("wild"), WILD], True),
        ({"automountServiceAccountToken": True}, [binding("wild"), WILD, MUTE], True),
        ({}, [binding("wild"), WILD, MUTE], False),
        ({"automountServiceAccountToken": False}, [binding("cluster-admin")], False),
        ({"serviceAccountName": "b"}, [binding("cluster-admin")], False),
        ({}, [binding("narrow"), NARROW], False),
        ({}, [binding("view")], False),
        ({}, [binding("cluster-admin", kind="Role")], False),
        ({}, [], False),
    ],
)
def test_a_token_with_every_right_is_seen(changes: dict[str, Any], beside: list[Any], is_found: bool) -> None:
    assert found(pod(**changes), *beside) == [("powerful-token", "spec.serviceAccountName")] * is_found


def test_another_namespaces_account_is_not_the_pods() -> None:
    job = pod()
    job["metadata"]["namespace"] = "team"
    assert found(job, binding("cluster-admin", namespace="other")) == []
    assert found(job, binding("cluster-admin", namespace="team")) != []


def test_the_group_runs_only_where_it_is_selected() -> None:
    documents = read_documents(yaml.safe_dump(pod(container_privileged=True)))
    assert lint_read(documents) == []
    assert {finding.rule for finding, _ in lint_read(documents, chosen_rules(["security"]))} == {"needs-privileged"}
    assert SECURITY_IDS & chosen_rules() == frozenset()
    assert chosen_rules(["security", "job-name"]) == SECURITY_IDS | {"job-name"}
    assert chosen_rules(["security"], ["needs-baseline"]) == SECURITY_IDS - {"needs-baseline"}
    with pytest.raises(InputError, match="no rule is left"):
        chosen_rules(["needs-baseline"], ["security"])


@pytest.mark.parametrize("value", [None, 5, "x", [], [None], {}, {"spec": 5}, {"spec": {"containers": {"a": 1}}}])
def test_a_wrong_shape_raises_nothing(value: Any) -> None:
    for kind in POD_KINDS:
        lint_documents([{"kind": kind, "spec": value, "metadata": value, "template": value}], security=True)
    for field in ("securityContext", "containers", "volumes", "os", "priorityClassName", "serviceAccountName"):
        lint_documents([pod(**{field: value}), {**binding("wild"), "subjects": value, "roleRef": value}], security=True)


def test_the_command_names_the_level_of_each_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from training_workloads.cli import main

    path = tmp_path / "pods.yaml"
    path.write_text(yaml.safe_dump_all([pod(), pod(hostPID=True), {"kind": "Service"}]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["trainctl", "lint", "pods.yaml", "--select", "security"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    output = capsys.readouterr()
    assert "1 error, 0 warnings in 1 file" in output.out
    assert output.err == (
        "note: pods.yaml:1: Pod 'a' needs the Pod Security level 'restricted'\n"
        "note: pods.yaml:19: Pod 'a' needs the Pod Security level 'privileged'\n"
    )
