"""What holds for every kind of job: its manifest is as reviewed, and no arguments render an invalid one."""

from collections.abc import Callable
from typing import Any

import cdk8s
import pytest
from constructs import Construct
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tests.schemas import check_manifest
from training_workloads import (
    INSTANCE_TYPES,
    ElasticHorovodJob,
    ElasticHorovodJobSpec,
    HorovodJob,
    HorovodJobSpec,
    InputError,
    NcclTestJob,
    NcclTestJobSpec,
    Scheduling,
    SharedVolume,
    StageDataJob,
    StageDataJobSpec,
    TensorBoard,
    TensorBoardSpec,
    TorchElasticJob,
    TorchElasticJobSpec,
)
from training_workloads.lint import lint_manifest
from training_workloads.spec import Spec

KINDS: dict[str, tuple[type[Spec], Callable[..., Construct]]] = {
    "horovod": (HorovodJobSpec, HorovodJob),
    "elastic": (ElasticHorovodJobSpec, ElasticHorovodJob),
    "torch": (TorchElasticJobSpec, TorchElasticJob),
    "nccl": (NcclTestJobSpec, NcclTestJob),
    "stage": (StageDataJobSpec, StageDataJob),
    "tensorboard": (TensorBoardSpec, TensorBoard),
}

PLAIN: dict[str, dict[str, Any]] = {
    "horovod": {"name": "job", "image": "image:1", "command": ("python", "-m", "train"), "workers": 2},
    "elastic": {
        "name": "job",
        "image": "image:1",
        "command": ("python", "-m", "train"),
        "workers": 2,
        "max_workers": 4,
    },
    "torch": {
        "name": "job",
        "image": "image:1",
        "command": ("python", "-m", "train"),
        "workers": 2,
        "max_workers": 4,
    },
    "nccl": {"name": "job", "image": "image:1"},
    "stage": {
        "name": "job",
        "image": "image:1",
        "source": "s3://bucket/data/",
        "folder": "data",
        "service_account": "stage",
    },
    "tensorboard": {"image": "image:1"},
}


def manifests(kind: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    spec, construct = KINDS[kind]
    chart = cdk8s.Testing.chart()
    construct(chart, "Job", spec=spec(**arguments))
    return list(cdk8s.Testing.synth(chart))


ON_GPUS = ("horovod", "elastic", "nccl")


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_each_kind_is_as_reviewed(kind: str, snapshot: SnapshotAssertion) -> None:
    type_ = {"instance_type": "p4d.24xlarge"} if kind in (*ON_GPUS, "torch") else {}
    made = manifests(kind, {**PLAIN[kind], **type_})
    for document in made:
        check_manifest(document)
    assert made == snapshot


@pytest.mark.parametrize("instance_type", ["p3dn.24xlarge", "p5.48xlarge"])
@pytest.mark.parametrize("kind", ON_GPUS)
def test_the_type_decides_devices_selector_and_slots_and_nothing_else(kind: str, instance_type: str) -> None:
    instance = INSTANCE_TYPES[instance_type]
    reviewed = manifests(kind, {**PLAIN[kind], "instance_type": "p4d.24xlarge"})
    made = manifests(kind, {**PLAIN[kind], "instance_type": instance_type})
    for document in made:
        check_manifest(document)
    worker = made[0]["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["nodeSelector"] == {"node.kubernetes.io/instance-type": instance_type}
    limits = worker["containers"][0]["resources"]["limits"]
    assert made[0]["spec"]["slotsPerWorker"] == limits["nvidia.com/gpu"] == instance.gpus
    assert limits.get("vpc.amazonaws.com/efa", 0) == instance.efa_interfaces
    assert different_paths(reviewed, made) <= {
        ("Launcher", "command"),
        ("Launcher", "env"),
        ("Worker", "nodeSelector"),
        ("Worker", "resources"),
        ("Worker", "sizeLimit"),
    }


def different_paths(first: Any, second: Any, role: str = "", key: str = "") -> set[tuple[str, str]]:
    """Return where two manifests differ: the role, and the field of a pod or of its container."""
    if first == second:
        return set()
    if key in ("command", "env", "nodeSelector", "resources") or not isinstance(first, dict | list):
        return {(role, key)}
    keys = sorted({*first, *second}) if isinstance(first, dict) else range(max(len(first), len(second)))
    pairs = ((name, _at(first, name), _at(second, name)) for name in keys)
    return {
        found
        for name, one, other in pairs
        for found in different_paths(
            one, other, name if name in ("Launcher", "Worker") else role, str(name) if isinstance(name, str) else key
        )
    }


def _at(value: Any, name: Any) -> Any:
    is_there = name in value if isinstance(value, dict) else name < len(value)
    return value[name] if is_there else None


def test_every_option_reaches_the_manifest() -> None:
    scheduling = Scheduling(
        gang=True,
        queue="research",
        priority_class="high",
        spread_over="kubernetes.io/hostname",
        colocate_in="topology.kubernetes.io/zone",
        capacity_type="ON_DEMAND",
        node_group="gpu",
        placement_group=True,
        preferred_topology="kubernetes.io/hostname",
    )
    everything = {
        "instance_type": "p4d.24xlarge",
        "gpus_per_worker": 4,
        "bind_to": "none",
        "environment": {"SEED": "7"},
        "volumes": (SharedVolume(), SharedVolume(claim="training-efs", mount_path="/efs")),
        "namespace": "research",
        "service_account": "runs",
        "scheduling": scheduling,
        "backoff_limit": 3,
        "deadline_seconds": 3600,
        "start_timeout_seconds": 900,
        "gate": False,
    }
    job, policy = made = manifests("horovod", {**PLAIN["horovod"], **everything})
    for document in made:
        check_manifest(document)
        assert document["metadata"]["namespace"] == "research"
    assert policy["kind"] == "NetworkPolicy"
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "research"}
    assert job["spec"]["runPolicy"] == {
        "cleanPodPolicy": "Running",
        "backoffLimit": 2,
        "activeDeadlineSeconds": 3600,
        "ttlSecondsAfterFinished": 604800,
        "suspend": True,
        "schedulingPolicy": {"minAvailable": 3, "priorityClass": "high"},
    }
    launcher, worker = (job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"] for role in ("Launcher", "Worker"))
    assert {"name": "SEED", "value": "7"} in launcher["containers"][0]["env"]
    words = launcher["containers"][0]["command"][3:]
    assert words[:6] == ["--timeout", "900", "--restarts", "3", "--gate", "no"]
    assert words[words.index("--mount") :][:5] == ["--mount", "/fsx", "--mount", "/efs", "/etc/mpi/hostfile"]
    for pod in (launcher, worker):
        assert (pod["serviceAccountName"], pod["priorityClassName"]) == ("runs", "high")
    assert worker["nodeSelector"]["eks.amazonaws.com/capacityType"] == "ON_DEMAND"
    assert worker["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"
    assert worker["nodeSelector"]["training-cluster/node-group"] == "gpu"
    together = worker["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [term["topologyKey"] for term in together] == [
        "topology.kubernetes.io/zone",
        "training-cluster/placement-group",
    ]
    mounts = {mount["name"]: mount["mountPath"] for mount in worker["containers"][0]["volumeMounts"]}
    assert mounts == {"shm": "/dev/shm", "shared-0": "/fsx", "shared-1": "/efs"}
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in worker["volumes"][1:]]
    assert claims == ["training-lustre", "training-efs"]
    assert worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 4


@pytest.mark.parametrize("kind", KINDS)
def test_rejects_the_spec_of_another_kind(kind: str) -> None:
    other = TensorBoardSpec(image="i") if kind != "tensorboard" else StageDataJobSpec(**PLAIN["stage"])
    for wrong, named in ((None, "None"), (other, f"a {type(other).__name__}")):
        with pytest.raises(InputError) as caught:
            KINDS[kind][1](cdk8s.Testing.chart(), "Job", spec=wrong)
        assert str(caught.value) == f"'spec' is {named}; give a {KINDS[kind][0].__name__}"


# What people type: right, nearly right, and of another type altogether.
_JUNK = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=70), st.just([]), st.just({}))
_NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,61}", fullmatch=True) | st.sampled_from(["job", "Job", "a.b", ""])
_TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)
_COUNTS = st.integers(min_value=-1, max_value=2**33) | st.integers(min_value=1, max_value=40)
_MAYBE_NAMES = st.none() | _NAMES
_TYPES = st.sampled_from(sorted(INSTANCE_TYPES)) | st.sampled_from(["p4d", "trn1.32xlarge", ""])
_KEYS = st.none() | st.sampled_from(["kubernetes.io/hostname", "topology.kubernetes.io/zone", "a/b/c", "zone "])


def _maker(make: Callable[..., Any]) -> Callable[..., Any]:
    """A strategy's function that gives None where the arguments are rejected, so that the job gets junk as well."""

    def made(**arguments: Any) -> Any:
        try:
            return make(**arguments)
        except InputError:
            return None

    return made


_SCHEDULING = st.builds(
    _maker(Scheduling),
    gang=st.booleans(),
    queue=_MAYBE_NAMES,
    priority_class=_MAYBE_NAMES,
    spread_over=_KEYS,
    colocate_in=_KEYS,
    capacity_type=st.sampled_from([None, "SPOT", "ON_DEMAND", "CAPACITY_BLOCK", "spot"]),
    node_group=_MAYBE_NAMES,
    placement_group=st.booleans(),
    required_topology=_KEYS,
    preferred_topology=_KEYS,
)
_VOLUME = st.builds(
    _maker(SharedVolume), claim=_NAMES, mount_path=st.sampled_from(["/fsx", "/a/b", "/dev/shm", "fsx", "/"]) | _TEXTS
)

_COMMON: dict[str, st.SearchStrategy[Any]] = {
    "name": _NAMES,
    "image": st.sampled_from(["image:1", "", "a b"]) | _TEXTS,
    "namespace": _MAYBE_NAMES,
}
_ON_GPUS = {
    **_COMMON,
    "instance_type": _TYPES,
    "scheduling": _SCHEDULING,
    "efa_interfaces": st.none() | st.integers(min_value=-1, max_value=40),
}
_GPU_JOB = {
    **_ON_GPUS,
    "command": st.lists(_TEXTS, max_size=4).map(tuple),
    "workers": _COUNTS,
    "gpus_per_worker": st.none() | st.integers(min_value=0, max_value=9),
    "environment": st.dictionaries(_TEXTS | st.sampled_from(["A", "NCCL_DEBUG"]), _TEXTS, max_size=2),
    "volumes": st.lists(_VOLUME, max_size=2).map(tuple),
    "service_account": _MAYBE_NAMES,
    "backoff_limit": _COUNTS,
    "deadline_seconds": _COUNTS,
    "start_timeout_seconds": _COUNTS,
}
_TRAINING = {
    **_GPU_JOB,
    "framework": st.sampled_from([None, "other", "tensorflow-2.18", "tensorflow"]),
    "gate": st.booleans(),
}
_BOUNDS = {"min_workers": _COUNTS, "max_workers": st.none() | _COUNTS}
ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "horovod": {**_TRAINING, "bind_to": st.sampled_from([None, "none", "socket", "core"])},
    "elastic": {**_TRAINING, **_BOUNDS},
    "torch": {
        **_GPU_JOB,
        **_BOUNDS,
        "max_restarts": _COUNTS,
        "rendezvous": st.sampled_from(["c10d", "etcd", "static"]),
    },
    "nccl": {
        **_ON_GPUS,
        "nodes": _COUNTS,
        "collective": st.sampled_from(["all_reduce", "all_gather", "reduce_scatter", "broadcast"]),
        "minimum_bus_bandwidth": st.none() | st.floats(),
        "message_gib": st.none() | st.integers(min_value=0, max_value=64),
    },
    "stage": {
        **_COMMON,
        "source": st.sampled_from(["s3://bucket/data/", "bucket"]) | _TEXTS,
        "folder": st.sampled_from(["data", "data/../x", "/data"]) | _TEXTS,
        "service_account": _NAMES,
        "file_system": st.sampled_from(["lustre", "efs", "s3"]),
        "volume": st.none() | _VOLUME,
        "pods": _COUNTS,
        "backoff_limit": _COUNTS,
    },
    "tensorboard": {**_COMMON, "folder": st.sampled_from(["runs", ".."]) | _TEXTS, "volume": _VOLUME},
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_arguments_render_a_valid_manifest_or_are_rejected(kind: str, data: st.DataObject) -> None:
    """Starts from a plain job and changes some of its arguments, one of them perhaps to something absurd."""
    arguments = {"instance_type": "p4d.24xlarge", **PLAIN[kind]} if "instance_type" in ARGUMENTS[kind] else PLAIN[kind]
    changed = data.draw(st.lists(st.sampled_from(sorted(ARGUMENTS[kind])), max_size=4, unique=True), "changed")
    arguments = {**arguments, **{name: data.draw(ARGUMENTS[kind][name], name) for name in changed}}
    if data.draw(st.booleans(), "absurd"):
        arguments[data.draw(st.sampled_from(sorted(ARGUMENTS[kind])), "where")] = data.draw(_JUNK, "what")
    try:
        spec = KINDS[kind][0](**arguments)
    except InputError:
        event("rejected")
        return
    event("accepted")
    chart = cdk8s.Testing.chart()
    KINDS[kind][1](chart, "Job", spec=spec)
    for document in cdk8s.Testing.synth(chart):
        check_manifest(document)


def pod_templates(made: Any) -> list[dict[str, Any]]:
    """Return the templates of all pods in some manifests: what has containers, with its metadata."""
    if isinstance(made, list):
        return [pod for each in made for pod in pod_templates(each)]
    if not isinstance(made, dict):
        return []
    own = [made] if "containers" in made.get("spec", {}) else []
    return [*own, *(pod for value in made.values() for pod in pod_templates(value))]


OF_A_TEAM = {**PLAIN, "train job": PLAIN["torch"] | {"max_workers": None, "kind": "TrainJob"}} | {
    "etcd": PLAIN["torch"] | {"rendezvous": "etcd"},
    "folders": PLAIN["stage"] | {"class_folders": "data/train"},
}


@pytest.mark.parametrize("kind", OF_A_TEAM)
def test_every_pod_of_a_job_runs_as_the_user_that_is_given(kind: str) -> None:
    arguments = {**OF_A_TEAM[kind], "user_id": 1001}
    spec = {"train job": "torch", "etcd": "torch", "folders": "stage"}.get(kind, kind)
    arguments |= {"instance_type": "p4d.24xlarge"} if spec in (*ON_GPUS, "torch") else {}
    made = manifests(spec, arguments)
    for document in made:
        check_manifest(document)
    found = pod_templates(made)
    assert found
    for pod in found:
        security = pod["spec"]["securityContext"]
        assert [security[name] for name in ("runAsUser", "runAsGroup", "fsGroup")] == [1001, 1001, 1001]
        # ssh asks this file for the name and the home of the number.
        passwd = pod["metadata"]["annotations"]["training-cluster/passwd"].splitlines()
        assert passwd[-1] == "mpiuser:x:1001:1001::/home/mpiuser:/bin/bash"
        assert {"name": "passwd", "downwardAPI": {"items": [{
            "path": "passwd",
            "fieldRef": {"fieldPath": "metadata.annotations['training-cluster/passwd']"},
        }]}} in pod["spec"]["volumes"]  # fmt: skip
        for container in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]:
            assert {
                "name": "passwd",
                "mountPath": "/etc/passwd",
                "subPath": "passwd",
                "readOnly": True,
            } in container["volumeMounts"]
    assert "'runAsUser': 1000" not in str(made)


def test_a_program_of_another_user_has_a_home_where_it_may_write() -> None:
    (worker,) = [
        pod
        for pod in pod_templates(manifests("torch", {**PLAIN["torch"], "instance_type": "p3.2xlarge", "user_id": 7}))
        if pod["spec"]["containers"][0]["name"] == "worker"
    ]
    assert {"name": "HOME", "value": "/tmp"} in worker["spec"]["containers"][0]["env"]
    own = PLAIN["torch"] | {"environment": {"HOME": "/fsx/home"}, "instance_type": "p3.2xlarge", "user_id": 7}
    variables = str(manifests("torch", own))
    assert variables.count("'name': 'HOME', 'value': '/fsx/home'") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_lint_warns_of_another_user(kind: str) -> None:
    arguments = PLAIN[kind] | ({"instance_type": "p4d.24xlarge"} if kind in (*ON_GPUS, "torch") else {})
    before, after = (
        [finding for document in manifests(kind, given) for finding in lint_manifest(document)]
        for given in (arguments, arguments | {"user_id": 1001})
    )
    assert [finding.rule for finding in after] == [finding.rule for finding in before]


@pytest.mark.parametrize("kind", KINDS)
def test_no_job_runs_as_root(kind: str) -> None:
    arguments = {**PLAIN[kind], "user_id": 0} | (
        {"instance_type": "p4d.24xlarge"} if kind in (*ON_GPUS, "torch") else {}
    )
    with pytest.raises(InputError, match="'user_id' is 0; give 1 or more"):
        KINDS[kind][0](**arguments)
