"""What a member of one team can do on a cluster with two, by the template of examples/two_teams.yaml."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk8s
import pytest
from aws_cdk import assertions
from aws_cdk import aws_s3 as s3

from tests.constructs.team.shared_api import SharedApi
from training_cluster import CompleteTrainingCluster, load_config
from training_workloads.jobs.constructs import define_job
from training_workloads.recipes import recipe

VISION = "arn:aws:iam::111122223333:role/Vision"
BOTH = "arn:aws:iam::111122223333:user/both"
STRANGER = "arn:aws:iam::111122223333:role/Stranger"

PODS, EXEC, LOGS, SECRETS, SERVICES = (("", name) for name in ("pods", "pods/exec", "pods/log", "secrets", "services"))
MPI_JOBS, JOBS = ("kubeflow.org", "mpijobs"), ("batch", "jobs")
POLICIES = ("networking.k8s.io", "networkpolicies")
REPLICA_SETS = "system:serviceaccount:kube-system:replicaset-controller"

Attempt = Callable[[SharedApi], Any]


@pytest.fixture(scope="module")
def api(root: Path) -> SharedApi:
    stack = cdk.Stack(cdk.App(), "Shared")
    config = load_config(root / "examples/two_teams.yaml")
    CompleteTrainingCluster(stack, "Training", config=config, bucket=s3.Bucket(stack, "Bucket"))
    return SharedApi(assertions.Template.from_stack(stack).to_json())


def objects(namespace: str, user: int) -> dict[str, dict[str, Any]]:
    """Return the objects of a job of a team, by kind."""
    chart = cdk8s.Testing.chart()
    define_job(chart, "Job", spec=recipe("digits", namespace=namespace, user_id=user))
    return {each["kind"]: each for each in cdk8s.Testing.synth(chart)}


def job(user: int = 2001, *, queue: str | None = "gpu", suspend: bool = True, workers: int = 2) -> dict[str, Any]:
    """Return an MPIJob as Kueue's webhook leaves it."""
    made = objects("vision", user)["MPIJob"]
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    made["spec"]["runPolicy"]["suspend"] = suspend
    made["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = workers
    return made


def pod(*, on_gpu: bool = False, **changes: Any) -> dict[str, Any]:
    """Return the launcher's pod, or the worker's."""
    role = job()["spec"]["mpiReplicaSpecs"]["Worker" if on_gpu else "Launcher"]["template"]
    spec = copy.deepcopy(role["spec"])
    (container,) = spec["containers"]
    container["resources"] = {
        kind: {name: str(amount) for name, amount in amounts.items()}
        for kind, amounts in container["resources"].items()
    }
    spec["securityContext"] |= changes.pop("context", {})
    container["securityContext"] |= changes.pop("rights", {})
    return {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "gpu"}}, "spec": spec | changes}


def service(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


LUSTRE = {"name": "data", "csi": {"driver": "fsx.csi.aws.com", "volumeAttributes": {"mountname": "abcdefgh"}}}
FAR = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["speech"]}]}}

SPEECH_JOB = {"training.kubeflow.org/job-name": "digits"}


def reaches_speech(api: SharedApi, namespace: str, labels: dict[str, str], *more: dict[str, Any]) -> bool:
    return api.connects((namespace, labels), ("speech", SPEECH_JOB), objects("speech", 2002)["NetworkPolicy"], *more)


OPEN = {
    "metadata": {"namespace": "vision"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]},
}

READS: dict[str, tuple[Attempt, Any]] = {
    "reads secrets of the own team": (lambda api: api.may(VISION, "get", SECRETS, "vision"), True),
    "reads secrets of another team": (lambda api: api.may(VISION, "get", SECRETS, "speech"), False),
    "reads logs of another team": (lambda api: api.may(VISION, "get", LOGS, "speech"), False),
    "reads a secret of kube-system": (lambda api: api.may(VISION, "get", SECRETS, "kube-system"), False),
    "lists the pods of all namespaces": (lambda api: api.may(VISION, "list", PODS), False),
    "sees the own place in the queue": (
        lambda api: api.may(VISION, "list", ("kueue.x-k8s.io", "workloads"), "vision"),
        True,
    ),
    "sees the jobs of another team in the queue": (
        lambda api: api.may(VISION, "list", ("kueue.x-k8s.io", "workloads"), "speech"),
        False,
    ),
    "reads as a stranger": (lambda api: api.may(STRANGER, "get", PODS, "vision"), False),
    "reads as a member of both teams": (
        lambda api: [api.may(BOTH, "get", SECRETS, each) for each in ("vision", "speech", "default")],
        [True, True, False],
    ),
}
WRITES: dict[str, tuple[Attempt, Any]] = {
    "creates a job in the queue": (lambda api: api.create(VISION, MPI_JOBS, job(), "vision"), "yes"),
    "creates a pod without GPUs": (lambda api: api.create(VISION, PODS, pod(), "vision"), "yes"),
    "creates a job of another team": (lambda api: api.create(VISION, MPI_JOBS, job(2002), "speech"), "authorization"),
    "creates a pod outside teams": (lambda api: api.create(VISION, PODS, pod(), "default"), "authorization"),
    "deletes a job of another team": (lambda api: api.may(VISION, "delete", MPI_JOBS, "speech"), False),
    "runs a program in a pod of another team": (lambda api: api.may(VISION, "create", EXEC, "speech"), False),
    "deletes the own job": (lambda api: api.may(VISION, "delete", MPI_JOBS, "vision"), True),
}
ESCAPES: dict[str, tuple[Attempt, Any]] = {
    "privileged": (lambda api: api.create(VISION, PODS, pod(rights={"privileged": True}), "vision"), "pod security"),
    "with a folder of the node": (
        lambda api: api.create(VISION, PODS, pod(volumes=[{"name": "a", "hostPath": {"path": "/"}}]), "vision"),
        "pod security",
    ),
    "in the node's network": (lambda api: api.create(VISION, PODS, pod(hostNetwork=True), "vision"), "pod security"),
    "among the node's processes": (lambda api: api.create(VISION, PODS, pod(hostPID=True), "vision"), "pod security"),
    "as root": (lambda api: api.create(VISION, PODS, pod(context={"runAsUser": 0}), "vision"), "pod security"),
    "as the user of another team": (
        lambda api: api.create(VISION, PODS, pod(context={"runAsUser": 2002}), "vision"),
        "admission policy",
    ),
    "in a container as the user of another team": (
        lambda api: api.create(VISION, PODS, pod(rights={"runAsUser": 2002}), "vision"),
        "admission policy",
    ),
    "with the group of another team": (
        lambda api: api.create(VISION, PODS, pod(context={"supplementalGroups": [2002]}), "vision"),
        "admission policy",
    ),
    "with files of the group of another team": (
        lambda api: api.create(VISION, PODS, pod(context={"fsGroup": 2002}), "vision"),
        "admission policy",
    ),
    "as the user of jobs outside teams": (
        lambda api: api.create(VISION, PODS, pod(context={"runAsUser": 1000, "runAsGroup": 1000}), "vision"),
        "admission policy",
    ),
    "with the file system of another team": (
        lambda api: api.create(VISION, PODS, pod(volumes=[LUSTRE]), "vision"),
        "admission policy",
    ),
    "as the operator": (lambda api: api.may(VISION, "impersonate", ("", "serviceaccounts"), "mpi-operator"), False),
}
QUEUE: dict[str, tuple[Attempt, Any]] = {
    "a job without the queue": (
        lambda api: api.create(VISION, MPI_JOBS, job(queue=None), "vision"),
        "admission policy",
    ),
    "a job of another queue": (
        lambda api: api.create(VISION, MPI_JOBS, job(queue="gpu-speech"), "vision"),
        "admission policy",
    ),
    "a job that runs at once": (
        lambda api: api.create(VISION, MPI_JOBS, job(suspend=False), "vision"),
        "admission policy",
    ),
    "starts the own job that waits": (
        lambda api: api.update(VISION, MPI_JOBS, job(suspend=False), job(), "vision"),
        "admission policy",
    ),
    "more pods for the own job that runs": (
        lambda api: api.update(VISION, MPI_JOBS, job(suspend=False, workers=9), job(suspend=False), "vision"),
        "admission policy",
    ),
    "a bare pod with the label of the queue": (
        lambda api: api.create(VISION, PODS, pod(on_gpu=True), "vision"),
        "admission policy",
    ),
    "a Deployment with GPUs": (
        lambda api: api.create(VISION, PODS, pod(on_gpu=True), "vision", REPLICA_SETS),
        "admission policy",
    ),
    "a pod on a GPU node by its name": (
        lambda api: api.create(VISION, PODS, pod(nodeName="ip-10-0-0-1"), "vision"),
        "admission policy",
    ),
    "a pod that only tolerates GPU nodes": (
        lambda api: api.create(VISION, PODS, pod(tolerations=[{"operator": "Exists"}]), "vision"),
        "admission policy",
    ),
    "an entrance of the own": (
        lambda api: api.may(VISION, "create", ("kueue.x-k8s.io", "localqueues"), "vision"),
        False,
    ),
    "more quota": (lambda api: api.may(VISION, "patch", ("kueue.x-k8s.io", "clusterqueues")), False),
    "the priority of system pods": (
        lambda api: api.create(VISION, PODS, pod(priorityClassName="system-node-critical"), "vision"),
        "quota",
    ),
    "pods of others off the node": (lambda api: api.create(VISION, PODS, pod(affinity=FAR), "vision"), "quota"),
    "idle GPUs of others": (lambda api: api.starts("gpu-vision", "gpu", 32, {}), "starts"),
    "GPUs of others that work with their own": (
        lambda api: api.starts("gpu-vision", "gpu", 8, {"gpu-speech": 16, "gpu": 8, "gpu-vision": 8}),
        "waits",
    ),
    "the own GPUs from a team that borrowed them": (
        lambda api: api.starts("gpu-vision", "gpu", 8, {"gpu-speech": 32}),
        "preempts",
    ),
    "more than the own GPUs from a team that borrows": (
        lambda api: api.starts("gpu-vision", "gpu", 16, {"gpu-speech": 32}),
        "waits",
    ),
}
BORDER: dict[str, tuple[Attempt, Any]] = {
    "reaches a job of another team": (lambda api: reaches_speech(api, "vision", {}), False),
    "copies the label of a job of another team": (lambda api: reaches_speech(api, "vision", SPEECH_JOB), False),
    "opens the own namespace, and no other": (
        lambda api: [
            reaches_speech(api, "vision", SPEECH_JOB, OPEN),
            api.connects(("speech", {}), ("vision", {}), OPEN),
        ],
        [False, True],
    ),
    "workers of a job reach each other": (lambda api: reaches_speech(api, "speech", SPEECH_JOB), True),
    "a pod without a separate policy": (lambda api: api.connects(("speech", {}), ("vision", {})), False),
    "asks for a name": (lambda api: api.connects(("vision", {}), ("kube-system", {"k8s-app": "kube-dns"})), True),
    "opens the own namespace by a policy": (lambda api: api.may(VISION, "create", POLICIES, "vision"), True),
    "opens another namespace by a policy": (lambda api: api.may(VISION, "create", POLICIES, "speech"), False),
    "a load balancer": (
        lambda api: api.create(VISION, SERVICES, service(type="LoadBalancer"), "vision"),
        "quota",
    ),
    "a port of all nodes": (
        lambda api: api.create(VISION, SERVICES, service(type="NodePort"), "vision"),
        "quota",
    ),
    "the address of another": (
        lambda api: api.create(VISION, SERVICES, service(externalIPs=["10.0.0.9"]), "vision"),
        "admission policy",
    ),
}


def right(verb: str, kind: tuple[str, str], namespace: str | None) -> tuple[Attempt, Any]:
    """Return the attempt to use a right that no member has."""
    return lambda api: api.may(VISION, verb, kind, namespace), False


RIGHTS = {
    f"{verb} {kind[1]} in {namespace or 'the cluster'}": right(verb, kind, namespace)
    for verb, kind, namespace in [
        ("patch", ("", "namespaces"), "vision"),
        ("delete", ("", "resourcequotas"), "vision"),
        ("create", ("rbac.authorization.k8s.io", "rolebindings"), "vision"),
        ("update", ("rbac.authorization.k8s.io", "roles"), "vision"),
        ("delete", ("admissionregistration.k8s.io", "validatingadmissionpolicies"), None),
        ("create", ("", "persistentvolumes"), None),
        ("create", ("scheduling.k8s.io", "priorityclasses"), None),
        ("patch", ("", "nodes"), None),
        ("create", ("kueue.x-k8s.io", "workloads"), "vision"),
        ("create", ("", "pods/binding"), "vision"),
    ]
}
ATTEMPTS = {
    f"{group}: {name}": attempt
    for group, attempts in {
        "read": READS,
        "write": WRITES,
        "a pod": ESCAPES,
        "the queue": QUEUE,
        "the border": BORDER,
        "rights": RIGHTS,
    }.items()
    for name, attempt in attempts.items()
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_has_the_expected_answer(name: str, api: SharedApi) -> None:
    attempt, expected = ATTEMPTS[name]
    assert attempt(api) == expected


def test_a_new_pod_has_no_network_before_its_policies(api: SharedApi) -> None:
    assert api.mode == "strict"
