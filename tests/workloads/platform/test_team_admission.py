import copy
from typing import Any

import cdk8s
import pytest

from tests.schemas import check_object
from tests.workloads.platform.team_requests import (
    COLLECTOR,
    CONTROLLER,
    DEBUG,
    GRACE,
    JOBS,
    KUEUE,
    MAKERS,
    MEMBER,
    OPERATOR,
    PODS,
    POLICIES,
    RESOURCES,
    USER,
    check,
    job,
    mpi_job,
    owned,
    pod,
    rejected,
    with_pods,
)
from tests.workloads.pod_security import pods
from training_workloads.jobs.constructs import define_job
from training_workloads.recipes import NEEDS, RECIPES, recipe

AS_TEAM = "the pods of a team run as its user"
BY_JOB = "a pod on GPU nodes, by its devices"
SEES = "each container of a pod on GPU nodes requests nvidia.com/gpu"
SCHEDULER = "the scheduler chooses the node"
QUEUE = "a job with GPUs waits in the queue"
STAYS = "a pod on GPU nodes stays with its job"
CLEANS = "the pods of a job with GPUs end with it"
ENDS = "the pods of a job end with it"
GROWN = "a job with GPUs that runs has the pods"
KUEUE_STARTS = "Kueue alone starts a job with GPUs"


@pytest.mark.parametrize("document", POLICIES, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_kubernetes_knows_every_field(document: dict[str, Any]) -> None:
    check_object(document)


def test_every_policy_is_bound() -> None:
    kinds = {name: {each["metadata"]["name"] for each in POLICIES if each["kind"].endswith(name)} for name in KINDS}
    parts = ("pods", "jobs", "mpijobs", "pod-deletions", "pod-evictions", "job-deletions", "job-parts", "services")
    names = {f"team-{name}" for name in parts}
    assert kinds["Policy"] == kinds["Binding"] == names


KINDS = ("Policy", "Binding")


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, None),
        ({"securityContext": {"runAsUser": USER, "runAsGroup": USER}}, None),
        ({"securityContext": {}}, AS_TEAM),
        ({"securityContext": {"runAsUser": 2002, "runAsGroup": USER}}, AS_TEAM),
        ({"securityContext": {"runAsUser": USER, "runAsGroup": 2002}}, AS_TEAM),
        ({"securityContext": {"runAsUser": USER}}, AS_TEAM),
        ({"securityContext": {"runAsUser": USER, "runAsGroup": USER, "fsGroup": 2002}}, AS_TEAM),
        (
            {"securityContext": {"runAsUser": USER, "runAsGroup": USER, "supplementalGroups": [USER, 2002]}},
            AS_TEAM,
        ),
        ({"containers": [{"name": "a", "securityContext": {"runAsUser": USER}}]}, None),
        ({"containers": [{"name": "a"}, {"name": "b", "securityContext": {"runAsUser": 2002}}]}, AS_TEAM),
        ({"containers": [{"name": "a", "securityContext": {"runAsGroup": 2002}}]}, AS_TEAM),
        ({"initContainers": [{"name": "a", "securityContext": {"runAsUser": 1000}}]}, AS_TEAM),
        ({"nodeName": "ip-10-0-0-1"}, SCHEDULER),
        ({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}, None),
    ],
)
def test_a_pod_runs_as_its_team(changes: dict[str, Any], wanted: str | None) -> None:
    check(rejected(PODS, pod(**changes)), wanted)


def test_a_pod_without_security_context_is_rejected() -> None:
    made = pod()
    del made["spec"]["securityContext"]
    check(rejected(PODS, made), AS_TEAM)


def test_a_namespace_without_the_label_is_not_asked() -> None:
    check(rejected(PODS, pod(8, securityContext={}), labels={}), None)


def test_a_team_without_a_user_gets_no_pod() -> None:
    (message,) = rejected(PODS, pod(), labels={"training-cluster/team": "vision"})
    assert message.startswith(AS_TEAM)


DEVICES = [
    {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
    {"containers": [{"name": "a"}, {"name": "b", "resources": {"requests": {"vpc.amazonaws.com/efa": "1"}}}]},
    {"initContainers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
    {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
    {"tolerations": [{"operator": "Exists"}]},
    {"tolerations": [{"key": "", "operator": "Exists"}]},
]


@pytest.mark.parametrize("changes", DEVICES)
@pytest.mark.parametrize("user", [MEMBER, "system:serviceaccount:kube-system:replicaset-controller"])
def test_no_other_pod_gets_to_gpu_nodes(changes: dict[str, Any], user: str) -> None:
    assert any(message.startswith(BY_JOB) for message in rejected(PODS, pod(**changes), user))


@pytest.mark.parametrize("user", [OPERATOR, JOBS])
def test_the_controllers_of_jobs_make_pods_with_gpus(user: str) -> None:
    check(rejected(PODS, pod(8), user), None)


def test_a_pod_that_waits_gets_no_toleration_of_gpu_nodes() -> None:
    tolerating = pod(tolerations=[{"operator": "Exists"}])
    assert any(message.startswith(BY_JOB) for message in rejected(PODS, tolerating, old=pod()))
    check(rejected(PODS, pod(8), old=pod(8)), None)


ALL_GPUS = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
NO_GPUS = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}


@pytest.mark.parametrize(
    ("container", "wanted"),
    [
        ({}, SEES),
        ({"resources": {"limits": {"cpu": "1"}}}, SEES),
        ({"resources": {"limits": {"nvidia.com/gpu": "0"}}}, SEES),
        ({"env": [ALL_GPUS]}, SEES),
        ({"env": [NO_GPUS]}, None),
        ({"env": [NO_GPUS, ALL_GPUS]}, SEES),
        ({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {}}]}, SEES),
        ({"env": [{"name": "HOME", "value": "/"}], "resources": {"limits": {"nvidia.com/gpu": "1"}}}, None),
        ({"env": [ALL_GPUS], "resources": {"limits": {"nvidia.com/gpu": "1"}}}, SEES),
    ],
)
def test_a_container_sees_no_gpus_that_it_did_not_request(container: dict[str, Any], wanted: str | None) -> None:
    made = pod(8)
    made["spec"]["containers"].append({"name": "beside", **container})
    check(rejected(PODS, made, JOBS), wanted)
    debugged = pod(8) | {"spec": {**pod(8)["spec"], "ephemeralContainers": [{"name": "debug", **container}]}}
    check(rejected(DEBUG, debugged, old=pod(8)), wanted)


def test_a_debugger_runs_as_the_team() -> None:
    debugger = {"name": "debug", "securityContext": {"runAsUser": 2002}}
    check(rejected(DEBUG, pod(ephemeralContainers=[debugger]), old=pod()), AS_TEAM)
    check(rejected(DEBUG, pod(ephemeralContainers=[{"name": "debug"}]), old=pod()), None)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, None),
        ({"queue": None}, QUEUE),
        ({"queue": "gpu-speech"}, QUEUE),
        ({"suspend": False}, KUEUE_STARTS),
        ({"gpus": 0, "queue": None, "suspend": False}, None),
    ],
)
def test_a_job_with_gpus_waits_in_the_queue(kind: str, values: dict[str, Any], wanted: str | None) -> None:
    check(rejected(RESOURCES[kind], MAKERS[kind](**values)), wanted)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("old", "new", "user", "wanted"),
    [
        ({}, {"suspend": False}, MEMBER, KUEUE_STARTS),
        ({}, {"suspend": False}, KUEUE, None),
        ({"suspend": False}, {"suspend": False}, MEMBER, None),
        ({"suspend": False}, {}, KUEUE, None),
        ({}, {"queue": None}, MEMBER, QUEUE),
        ({"gpus": 0, "suspend": False}, {"suspend": False}, MEMBER, GROWN),
    ],
)
def test_kueue_alone_starts_a_job_with_gpus(
    kind: str, old: dict[str, Any], new: dict[str, Any], user: str, wanted: str | None
) -> None:
    make = MAKERS[kind]
    check(rejected(RESOURCES[kind], make(**new), user, old=make(**old)), wanted)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(("number", "image", "wanted"), [(2, "debian", None), (3, "debian", GROWN), (2, "cuda", GROWN)])
def test_a_job_that_runs_gets_no_more_pods_and_no_others(
    kind: str, number: int, image: str, wanted: str | None
) -> None:
    running = with_pods(MAKERS[kind](suspend=False), 2)
    check(rejected(RESOURCES[kind], with_pods(running, number, image), old=running), wanted)
    check(rejected(RESOURCES[kind], with_pods(running, number, image), KUEUE, old=running), None)
    waiting = with_pods(MAKERS[kind](), 2)
    check(rejected(RESOURCES[kind], with_pods(waiting, number, image), old=waiting), None)


def test_one_pod_is_the_default_number() -> None:
    running = job(suspend=False)
    check(rejected(RESOURCES["Job"], with_pods(running, 1), old=running), None)
    check(rejected(RESOURCES["Job"], with_pods(running, 2), old=running), GROWN)


def test_a_job_that_runs_gets_no_other_role() -> None:
    running = mpi_job(suspend=False)
    fewer = copy.deepcopy(running)
    del fewer["spec"]["mpiReplicaSpecs"]["Launcher"]
    check(rejected(RESOURCES["MPIJob"], running, old=fewer), GROWN)


@pytest.mark.parametrize(
    ("before", "after", "wanted"), [(None, None, None), (1, 1, None), (4, 2, None), (1, 4, GROWN), (None, 4, GROWN)]
)
def test_an_indexed_job_that_runs_gets_no_more_completions(
    before: int | None, after: int | None, wanted: str | None
) -> None:
    old, new = (with_pods(job(suspend=False), 4) for _ in range(2))
    for made, completions in ((old, before), (new, after)):
        made["spec"] |= {} if completions is None else {"completions": completions, "completionMode": "Indexed"}
    check(rejected(RESOURCES["Job"], new, old=old), wanted)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_job_with_gpus_is_not_put_below_one_that_kueue_admitted(kind: str) -> None:
    make = MAKERS[kind]
    check(rejected(RESOURCES[kind], owned(make(), "Job")), CONTROLLER)
    running = make(suspend=False)
    check(rejected(RESOURCES[kind], owned(running, "Job"), old=running), CONTROLLER)
    check(rejected(RESOURCES[kind], owned(make(), "ConfigMap", controller=False)), None)
    check(rejected(RESOURCES[kind], owned(make(0, queue=None, suspend=False), "Job")), None)


@pytest.mark.parametrize(
    ("policy", "wanted"), [({"cleanPodPolicy": "All"}, None), ({"cleanPodPolicy": "None"}, CLEANS), ({}, CLEANS)]
)
def test_workers_with_gpus_end_with_their_job(policy: dict[str, Any], wanted: str | None) -> None:
    for suspend in (True, False):
        made, old = mpi_job(suspend=suspend), mpi_job(suspend=suspend)
        made["spec"]["runPolicy"] = {"suspend": suspend, **policy}
        check(rejected(RESOURCES["MPIJob"], made, old=old), wanted)
    check(rejected(RESOURCES["MPIJob"], made, KUEUE, old=old), None)


def test_a_launcher_that_runs_does_not_grow_by_suspending_it() -> None:
    launcher = owned(job(1, queue=None, suspend=False), "MPIJob")
    check(rejected(RESOURCES["Job"], launcher, OPERATOR), None)
    grown = owned(with_pods(job(1, queue=None), 32), "MPIJob")
    assert any(message.startswith(CONTROLLER) for message in rejected(RESOURCES["Job"], grown, old=launcher))


@pytest.mark.parametrize("changes", [{"labels": {}}, {"labels": {"batch.kubernetes.io/controller-uid": "2"}}])
def test_a_pod_with_gpus_leaves_its_job_by_no_label(changes: dict[str, Any]) -> None:
    metadata = {"name": "one", "labels": {"batch.kubernetes.io/controller-uid": "1"}}
    old, new = ({**pod(8), "metadata": each} for each in (metadata, metadata | changes))
    check(rejected(PODS, new, old=old), STAYS)
    check(rejected(PODS, new, JOBS, old=old), None)
    without = {**pod(), "metadata": metadata}
    check(rejected(PODS, without | {"metadata": metadata | changes}, old=without), None)


def test_a_pod_with_gpus_keeps_its_owner() -> None:
    old = owned(pod(8), "Job")
    check(rejected(PODS, pod(8), old=old), STAYS)
    check(rejected(PODS, old, old=old), None)
    check(rejected(PODS, pod(8), COLLECTOR, old=old), None)


def test_the_job_of_a_launcher_with_gpus_is_deleted() -> None:
    launcher = owned(job(1, queue=None, suspend=False), "MPIJob")
    check(rejected(RESOURCES["Job"], launcher, COLLECTOR, old=launcher), None)


@pytest.mark.parametrize(("seconds", "wanted"), [(100, None), (120, None), (121, GRACE), (10**9, GRACE)])
def test_a_pod_with_gpus_ends_soon(seconds: int, wanted: str | None) -> None:
    check(rejected(PODS, pod(8, terminationGracePeriodSeconds=seconds), JOBS), wanted)
    check(rejected(PODS, pod(terminationGracePeriodSeconds=seconds)), None)
    check(rejected(PODS, None, old=pod(8), options={"gracePeriodSeconds": seconds}), wanted)
    check(rejected(PODS, None, old=pod(), options={"gracePeriodSeconds": seconds}), None)
    check(rejected(PODS, None, old=pod(8)), None)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"propagationPolicy": "Background"}, None),
        ({"propagationPolicy": "Foreground"}, None),
        ({"propagationPolicy": "Orphan"}, ENDS),
        ({"orphanDependents": True}, ENDS),
        ({}, ENDS),
    ],
)
def test_pods_do_not_outlive_their_job(kind: str, options: dict[str, Any], wanted: str | None) -> None:
    check(rejected(RESOURCES[kind], None, old=MAKERS[kind](suspend=False), options=options), wanted)


@pytest.mark.parametrize(
    ("volume", "wanted"),
    [
        ({"persistentVolumeClaim": {"claimName": "training-lustre"}}, None),
        ({"csi": {"driver": "secrets-store.csi.k8s.io"}}, None),
        ({"csi": {"driver": "fsx.csi.aws.com", "volumeAttributes": {"mountname": "abc"}}}, "file systems of AWS"),
        ({"csi": {"driver": "efs.csi.aws.com"}}, "file systems of AWS"),
    ],
)
def test_a_file_system_is_mounted_by_a_claim(volume: dict[str, Any], wanted: str | None) -> None:
    check(rejected(PODS, pod(volumes=[{"name": "other"}, {"name": "data", **volume}])), wanted)


def test_the_operator_makes_the_job_of_a_launcher_with_gpus() -> None:
    check(rejected(RESOURCES["Job"], job(queue=None, suspend=False), OPERATOR), None)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_job_says_that_its_pods_run_as_the_team(kind: str) -> None:
    made = MAKERS[kind]()
    next(pods(made))["securityContext"]["runAsUser"] = 1000
    check(rejected(RESOURCES[kind], made), AS_TEAM)


def test_a_service_takes_no_addresses_of_others() -> None:
    services = ("", "services")
    check(rejected(services, {"metadata": {}, "spec": {"ports": [{"port": 80}]}}), None)
    check(rejected(services, {"metadata": {}, "spec": {"externalIPs": ["10.0.0.1"]}}), "a Service with externalIPs")


@pytest.mark.parametrize("name", RECIPES)
def test_the_policies_admit_every_recipe_as_the_user_of_the_team(name: str) -> None:
    chart = cdk8s.Testing.chart()
    needed: dict[str, Any] = {"source": "s3://bucket/data/", "service_account": "stage"}
    values = {field: needed[field] for field in NEEDS.get(name, {})}
    define_job(chart, "Job", spec=recipe(name, user_id=USER, **values))
    for document in cdk8s.Testing.synth(chart):
        for spec in pods(document):
            user = JOBS if spec.get("tolerations") else MEMBER
            check(rejected(PODS, {"metadata": {}, "spec": as_read(spec)}, user), None)
        if document["kind"] in RESOURCES:
            check(rejected(RESOURCES[document["kind"]], queued(document)), None)


def as_read(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a pod's spec as the API server has it, with amounts as text."""
    read = copy.deepcopy(spec)
    for container in [*read.get("initContainers", []), *read["containers"]]:
        for amounts in container.get("resources", {}).values():
            amounts |= {name: str(amount) for name, amount in amounts.items()}
    return read


def queued(document: dict[str, Any]) -> dict[str, Any]:
    """Return a job as Kueue's webhook leaves it."""
    document["metadata"]["labels"] = document["metadata"].get("labels", {}) | {"kueue.x-k8s.io/queue-name": "gpu"}
    (document["spec"]["runPolicy"] if document["kind"] == "MPIJob" else document["spec"])["suspend"] = True
    return document
