import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program, condition
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
        (
            waits("CrashLoopBackOff", "Failed to initialize NVML: Unknown Error"),
            "CrashLoopBackOff",
            "Failed to initialize NVML: Unknown Error",
            "digits-worker-0 on node-a has lost its GPUs while it ran, as with NVIDIA Container Toolkits before 1.18: "
            "cancel the job and submit it again, and it resumes; 'trainctl cluster status' shows the release of the "
            "AMI, with its known faults",
        ),
        *(
            (
                waits("RunContainerError", message),
                "RunContainerError",
                message,
                "digits-worker-0 on node-a does not reach the driver of NVIDIA: 'trainctl cluster status' shows the "
                "release of the AMI, with its known faults; 'nvidia-smi' on the node says whether the driver itself "
                "works",
            )
            for message in ("Failed to initialize NVML: Driver Not Loaded", "nvml error: driver not loaded: unknown")
        ),
        (
            waits("RunContainerError", "failed to create application profiles directory: read-only file system"),
            "RunContainerError",
            "failed to create application profiles directory: read-only file system",
            "digits-worker-0 on node-a mounts something read-only at /etc/nvidia, where NVIDIA Container Toolkit 1.20 "
            "writes: mount it elsewhere; 'trainctl cluster status' shows the release of the AMI, with its known faults",
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


def test_a_job_that_waits_for_the_quota_of_its_queue(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    job = cluster.add(mpi_job("digits", "Suspended", runPolicy={"suspend": True}))
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpu"}
    assert "hint: it is suspended: the queue 'gpu' has not admitted it yet (" in program("status", "digits").out


@pytest.mark.parametrize(
    ("state", "warning", "hint"),
    [
        ("Suspended", None, "it is suspended and in no queue: a user set suspend"),
        (
            None,
            None,
            "the operator has not started it: if that lasts, its log has the reason: 'kubectl logs -n mpi-operator "
            "deployment/mpi-operator'",
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
    conditions = [state.replace("Evicted", "Failed")] if state else []
    job = cluster.add(mpi_job("digits", *conditions, runPolicy={"suspend": state == "Suspended"}))
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


GPU_TAINT = "1 node(s) had untolerated taint {nvidia.com/gpu: true}"
SYSTEM_TAINT = "2 node(s) had untolerated taint {CriticalAddonsOnly: true}"
CPU, GPU = "1 Insufficient cpu", "2 Insufficient nvidia.com/gpu"
SELECTOR = "1 node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize(
    ("reasons", "beginning"),
    [
        # The taint of other nodes is no cause, and neither is what they have too little of.
        ((SYSTEM_TAINT, CPU, GPU, SELECTOR), "no node has enough free nvidia.com/gpu: "),
        # The nodes that have GPUs reject the pod; the others lack GPUs.
        ((GPU_TAINT, CPU, GPU), "the pods do not tolerate the taint {nvidia.com/gpu: true}: "),
        ((GPU_TAINT, SELECTOR), "the pods do not tolerate the taint {nvidia.com/gpu: true}: "),
        ((CPU,), "no node has enough free cpu: "),
        ((SELECTOR,), "no node matches the pods: "),
    ],
)
def test_the_scheduler_names_every_node_and_one_reason_is_the_cause(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, reasons: tuple[str, ...], beginning: str
) -> None:
    cluster.add(mpi_job("digits", "Created"))
    cluster.add(pod("digits-worker-0", "worker", **unscheduled(f"0/5 nodes are available: {', '.join(reasons)}.")))
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint.startswith(beginning)


def test_several_causes_have_several_hints(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Suspended", runPolicy={"suspend": True}))
    cluster.add(pod("digits-worker-0", "worker", **unscheduled(f"0/2 nodes are available: {GPU}.")))
    cluster.add(pod("digits-worker-1", "worker", **waits("ImagePullBackOff")))
    hints = json.loads(program("status", "digits", "--json").out)["hints"]
    beginnings = ["the image cannot be pulled", "no node has enough free nvidia.com/gpu", "it is suspended"]
    assert [hint[: len(beginning)] for hint, beginning in zip(hints, beginnings, strict=True)] == beginnings
    shown = program("status", "digits").out.partition("\n\nhint: ")[2].split("\nhint: ")
    assert [each.rstrip() for each in shown] == hints


POD_SECURITY = 'violates PodSecurity "restricted:latest": seccompProfile (pod or container "worker" must set …)'
QUOTA = "exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4"
PERMISSION = 'User "system:serviceaccount:mpi-operator:mpi-operator" cannot create resource "pods"'
PRIORITY = "no PriorityClass with name urgent was found"


def rejected(reason: str, about: str = "MPIJob", word: str = "MPIJobFailed") -> dict[str, Any]:
    name = "digits" if about == "MPIJob" else "digits-launcher"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "type": "Warning",
        "involvedObject": {"kind": about, "name": name},
        "reason": word,
        "message": f'worker pod created failed: pods "digits-worker-0" is forbidden: {reason}',
        "lastTimestamp": "2026-11-21T10:00:20Z",
    }


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        (
            POD_SECURITY,
            "render the job with this version of trainctl, or use a namespace with another pod-security label",
        ),
        (
            QUOTA,
            "wait until other jobs have ended ('trainctl list'), render fewer workers, or ask for a larger quota",
        ),
        (PERMISSION, "install the operator's permissions again: 'kubectl apply -f dist/platform/'"),
        (PRIORITY, "change the job, or ask an administrator of the cluster"),
    ],
)
@pytest.mark.parametrize(("about", "word"), [("MPIJob", "MPIJobFailed"), ("Job", "FailedCreate")])
def test_pods_that_the_cluster_rejects(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, reason: str, fix: str, about: str, word: str
) -> None:
    cluster.add(mpi_job("digits", "Created"))
    cluster.add(rejected(reason, about, word))
    hints = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hints == [f"the cluster rejects the pods of the job ({reason}): {fix}"]


def test_a_rejection_that_is_over_is_no_cause(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(rejected(QUOTA))
    for name, role in (("launcher-a", "launcher"), ("worker-0", "worker"), ("worker-1", "worker")):
        cluster.add(pod(f"digits-{name}", role))
    job = cluster.add(mpi_job("digits", "Created", "Running"))
    assert json.loads(program("status", "digits", "--json").out)["hints"] == []
    # It failed for another reason, and its workers are deleted.
    job["status"]["conditions"].append(condition("Failed", 30))
    del cluster.objects["/api/v1/namespaces/team/pods/digits-worker-1"]
    assert json.loads(program("status", "digits", "--json").out)["hints"] == []
    # It never ran: the launcher gave up waiting for its workers.
    del job["status"]["conditions"][1]
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint.startswith("the cluster rejects the pods of the job (exceeded quota: ")


def test_a_users_mistake_in_the_program(program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> None:
    cluster.add(mpi_job("digits", "Running"))
    ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": {"exitCode": 2, "reason": "Error"}}}
    cluster.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=[ended]))
    out = program("status", "digits").out
    why = "exit code 2 (the program rejects what it was given: a restart repeats that)"
    assert f"\ndigits-launcher-a: {why}\n" in out
    assert out.partition("\nhint: ")[2] == (
        f"digits-launcher-a ended with {why}; read the end of 'trainctl logs digits', cancel the job, fix it and "
        "submit it again\n"
    )
    # A later attempt runs.
    cluster.add(pod("digits-launcher-b", "launcher", second=30))
    assert "hint: " not in program("status", "digits").out


@pytest.mark.parametrize(
    ("state", "is_over"),
    [
        ({"running": {}}, True),
        ({"waiting": {"reason": "ContainerCreating"}}, True),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, False),
    ],
)
def test_a_users_mistake_counts_until_the_container_starts_again(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, state: dict[str, Any], is_over: bool
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    ended = {"terminated": {"exitCode": 2, "reason": "Error"}}
    container = {"name": "launcher", "restartCount": 1, "state": state, "lastState": ended}
    cluster.add(pod("digits-launcher-a", "launcher", containerStatuses=[container]))
    report = json.loads(program("status", "digits", "--json").out)
    assert report["launchers"][0]["exit_code"] == (None if is_over else 2)
    assert [hint.partition(" (")[0] for hint in report["hints"]] == (
        [] if is_over else ["digits-launcher-a ended with exit code 2"]
    )


def test_every_rule_is_wired() -> None:
    import training_workloads.cluster.hints as module

    functions = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    rules = {value for value in functions if list(inspect.signature(value).parameters) == ["evidence"]}
    assert set(RULES) == rules - {module.find_hints}
