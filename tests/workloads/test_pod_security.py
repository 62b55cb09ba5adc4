"""A namespace with `pod-security.kubernetes.io/enforce: restricted` admits the pods of every recipe."""

import copy
from typing import Any

import cdk8s
import pytest

from tests.workloads.pod_security import Pod, broken, pods
from training_workloads.jobs.constructs import define_job
from training_workloads.recipes import NEEDS, RECIPES, recipe

NEEDED: dict[str, Any] = {
    "source": "s3://bucket/data/imagenet/",
    "service_account": "stage",
}


def rendered(name: str, **changes: Any) -> list[Pod]:
    chart = cdk8s.Testing.chart()
    needed = {field: NEEDED[field] for field in NEEDS.get(name, {})}
    define_job(chart, "Job", spec=recipe(name, **needed, **changes))
    return [pod for document in cdk8s.Testing.synth(chart) for pod in pods(document)]


@pytest.mark.parametrize("name", RECIPES)
def test_every_pod_of_a_recipe_is_admitted(name: str) -> None:
    made = rendered(name)
    assert len(made) == (1 if name in ("stage-data", "tensorboard") else 2)
    assert [broken(pod) for pod in made] == [[]] * len(made)


def test_a_copy_to_efs_is_admitted() -> None:
    (pod,) = rendered("stage-data", file_system="efs")
    assert broken(pod) == []


@pytest.mark.parametrize(
    ("rule", "path", "value"),
    [
        ("HostProcess", "pod windowsOptions", {"hostProcess": True}),
        ("host namespaces", "hostIPC", True),
        ("privileged containers", "container privileged", True),
        ("host ports", "ports", [{"containerPort": 1, "hostPort": 1}]),
        ("host probes", "readinessProbe", {"tcpSocket": {"host": "127.0.0.1", "port": 1}}),
        ("AppArmor", "pod appArmorProfile", {"type": "Unconfined"}),
        ("SELinux", "container seLinuxOptions", {"user": "u"}),
        ("/proc mount type", "container procMount", "Unmasked"),
        ("sysctls", "pod sysctls", [{"name": "kernel.msgmax", "value": "1"}]),
        ("volume types", "volumes", [{"name": "efa", "hostPath": {"path": "/dev/infiniband"}}]),
        ("privilege escalation", "container allowPrivilegeEscalation", None),
        ("running as non-root", "pod runAsNonRoot", None),
        ("running as non-root user", "container runAsUser", 0),
        ("seccomp", "pod seccompProfile", None),
        ("capabilities", "container capabilities", {"drop": ["ALL"], "add": ["IPC_LOCK"]}),
    ],
)
def test_each_rule_sees_what_breaks_it(rule: str, path: str, value: Any) -> None:
    *where, field = path.split()
    pod = copy.deepcopy(rendered("digits")[1])
    (container,) = pod["containers"]
    at = {
        "": container if field in ("ports", "readinessProbe") else pod,
        "pod": pod["securityContext"],
        "container": container["securityContext"],
    }["".join(where)]
    at[field] = value
    assert broken(pod) == [rule]
