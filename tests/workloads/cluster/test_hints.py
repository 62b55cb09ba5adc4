from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import FakeCluster
from training_workloads.cluster.hints import RULES

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]


def unscheduled(message: str) -> dict[str, Any]:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [scheduled], "containerStatuses": []}


def waits(reason: str, message: str = "") -> dict[str, Any]:
    container = {"name": "worker", "restartCount": 0, "state": {"waiting": {"reason": reason, "message": message}}}
    return {"phase": "Pending", "conditions": [], "containerStatuses": [container]}


def killed(place: str) -> dict[str, Any]:
    terminated = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    states = {"state": terminated} if place == "state" else {"state": {"running": {}}, "lastState": terminated}
    return {"phase": "Running", "containerStatuses": [{"name": "worker", "restartCount": 1, **states}]}


@pytest.mark.parametrize(
    ("status", "state", "why", "hint"),
    [
        (
            unscheduled(
                "0/3 nodes are available: 1 node(s) had untolerated taint {x: y}, 2 Insufficient nvidia.com/gpu."
            ),
            "Pending",
            "0/3 nodes are available: 1 node(s) had untolerated taint {x: y}, 2 Insufficient nvidia.com/gpu.",
            "no node has enough free nvidia.com/gpu: check that the node group of p4d.24xlarge can grow (max_size in "
            "cluster.yaml; AWS may have no capacity), or which job uses them ('trainctl list -A')",
        ),
        (
            unscheduled("0/2 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: true}. preemption"),
            "Pending",
            "0/2 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: true}. preemption",
            "the pods do not tolerate the taint {nvidia.com/gpu: true}: add the toleration, or render the job again",
        ),
        (
            unscheduled("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."),
            "Pending",
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
            "no node matches the pods: the cluster needs a node group with p4d.24xlarge that can grow (max_size)",
        ),
        (
            unscheduled('persistentvolumeclaim "training-lustre" not found'),
            "Pending",
            'persistentvolumeclaim "training-lustre" not found',
            "a PersistentVolumeClaim is missing or has no volume: 'kubectl get pvc' shows which; the cluster's stack "
            "creates the claims of its file systems",
        ),
        (
            unscheduled("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
            "Pending",
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            "a PersistentVolumeClaim is missing or has no volume: 'kubectl get pvc' shows which; the cluster's stack "
            "creates the claims of its file systems",
        ),
        (
            waits("ImagePullBackOff", "Back-off pulling image"),
            "ImagePullBackOff",
            "Back-off pulling image",
            "the image cannot be pulled: compare its address and tag with 'aws ecr describe-images', and check that "
            "the nodes can connect to the registry",
        ),
        (waits("ContainerCreating"), "Pending", "", None),
        *(
            (
                killed(place),
                "OOMKilled",
                "container 'worker' used more memory than its limit",
                "digits-worker-0 used more memory than its limit: give each worker more GPUs, and with them a larger "
                "share of the node, or use a larger instance type, or a smaller shuffle buffer and batch",
            )
            for place in ("state", "lastState")
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "disk pressure"}, "Evicted", "disk pressure", None),
    ],
)
def test_a_pod_that_does_not_run(
    program: Program,
    cluster: FakeCluster,
    mpi_job: MpiJob,
    pod: MakePod,
    status: dict[str, Any],
    state: str,
    why: str,
    hint: str | None,
) -> None:
    cluster.add(mpi_job("digits", "Created"))
    made = cluster.add(pod("digits-worker-0", "worker", **status))
    expression = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p4d.24xlarge"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    made["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    out = program("status", "digits").out
    (row,) = [line.split() for line in out.splitlines() if line.startswith("digits-worker-0 ")]
    assert row[2] == state
    assert (f"digits-worker-0: {why}\n" in out) == bool(why)
    assert out.partition("\nhint: ")[2] == (f"{hint}\n" if hint else "")


@pytest.mark.parametrize(
    ("state", "warning", "hint"),
    [
        (
            "Suspended",
            None,
            "it is suspended: a queue has not admitted it yet ('kubectl get workloads'), or a user set suspend",
        ),
        (
            None,
            None,
            "the operator has not started it: if that lasts, check that the operator runs: "
            "'kubectl get pods -n mpi-operator'",
        ),
        (
            None,
            "ValidationError",
            "the operator rejects this job and will not start it: read the warning, fix the manifest, cancel the job "
            "and submit it again",
        ),
        ("Succeeded", "ValidationError", ""),
        (
            "Evicted",
            None,
            "a worker was evicted from its node, and the others still occupy theirs: if the job does not continue, "
            "cancel it and submit it again; it resumes from its checkpoint",
        ),
    ],
)
def test_a_job_that_does_not_start_or_continue(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, state: str | None, warning: str | None, hint: str
) -> None:
    job = cluster.add(mpi_job("digits", *([state.replace("Evicted", "Failed")] if state else [])))
    if state == "Evicted":
        job["status"]["conditions"][0]["reason"] = "MPIJobEvicted"
    if warning:
        cluster.add(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "e"},
                "type": "Warning",
                "involvedObject": {"kind": "MPIJob", "name": "digits"},
                "reason": warning,
                "message": "Invalid value",
                "lastTimestamp": "2026-11-21T10:00:01Z",
            }
        )
    assert program("status", "digits").out.partition("\nhint: ")[2].rstrip() == hint


def test_every_rule_is_wired() -> None:
    import training_workloads.cluster.hints as module

    functions = {
        value for name, value in vars(module).items() if callable(value) and value.__module__ == module.__name__
    }
    assert set(RULES) == functions - {module.hint, module.Evidence}
