"""Whatever the definition accepts, the operator's Go types decode; and it accepts what is valid."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from setup.record_pod_types import RECORDED
from setup.source_tree import ROOT
from tests.workloads.mpijob.api_server import Rejected, pruned, stored
from tests.workloads.mpijob.go_types import decoding_errors, parses_as_quantity, pod_fields
from training_workloads.manifests.documents import read_manifest
from training_workloads.mpijob.decoding import decoding_failures, decoding_problems
from training_workloads.mpijob.definition import mpi_job_definition

(VERSION,) = mpi_job_definition()["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]

# What is written instead of the names in a map, and of the positions in a list.
NAME = "some.name/x"


def leaves(schema: dict[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values below a schema, structs and lists included."""
    if path and path != ("metadata",):
        yield path
    for name, inner in schema.get("properties", {}).items():
        yield from leaves(inner, (*path, name))
    if "items" in schema:
        yield from leaves(schema["items"], (*path, 0))
    if "additionalProperties" in schema:
        yield from leaves(schema["additionalProperties"], (*path, NAME))


# Without those in the launcher's template, which is the workers'.
TEMPLATE_OF_LAUNCHER = ("spec", "mpiReplicaSpecs", "Launcher", "template")
PATHS = [path for path in leaves(SCHEMA) if path[:4] != TEMPLATE_OF_LAUNCHER or len(path) == 4]


def inside(schema: dict[str, Any], step: str | int) -> dict[str, Any]:
    found = schema["items"] if step == 0 else schema.get("properties", {}).get(step) or schema["additionalProperties"]
    return dict(found)


def schema_at(path: tuple[str | int, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = SCHEMA
    for step in path:
        schema = inside(schema, step)
    return schema


def right(schema: dict[str, Any]) -> Any:
    """A value that the schema accepts."""
    if "x-kubernetes-int-or-string" in schema:
        return 1
    match schema["type"]:
        case "object":
            return {name: right(schema["properties"][name]) for name in schema.get("required", [])}
        case "array":
            return []
        case "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return schema["enum"][0] if "enum" in schema else "2024-02-29T13:00:00.5+01:00"


def job_with(path: tuple[str | int, ...], value: Any, schema: dict[str, Any] = SCHEMA) -> Any:
    """A job that is valid apart from the value at a path."""
    if not path:
        return value
    step, *rest = path
    planted = job_with(tuple(rest), value, inside(schema, step))
    return [planted] if step == 0 else right(schema) | {step: planted}


def is_accepted(job: Any) -> bool:
    try:
        stored(SCHEMA, job)
    except Rejected:
        return False
    return True


def test_the_paths_are_those_of_a_job_with_one_template_for_both_roles() -> None:
    assert len(PATHS) > 1000
    worker = ("spec", "mpiReplicaSpecs", "Worker", "template")
    assert schema_at(TEMPLATE_OF_LAUNCHER) == schema_at(worker)
    assert (*worker, "spec", "containers", 0, "env", 0, "value") in PATHS


def test_each_field_of_a_pod_has_the_type_that_the_official_client_has() -> None:
    # A field of an alpha feature in the pinned release that later releases no longer have.
    gone = {("PodSpec", "workloadRef")}
    compared = 0
    for struct, content in json.loads(RECORDED.read_text()).items():
        if struct == "WorkloadReference":
            continue
        for field, kind in content["fields"].items():
            if (struct, field) not in gone:
                assert pod_fields(struct)[field] == kind
                compared += 1
    assert compared > 400


@pytest.mark.parametrize("value", [{"a": 1}, ["a"], "text", 1.5, True, 2**31, 2**63, "2026-02-31T00:00:00Z", "8GiB"])
def test_no_field_takes_a_value_that_go_cannot_decode(value: Any) -> None:
    rejected = 0
    for path in PATHS:
        job = job_with(path, value)
        # Roles are the keys of a map in Go, but no definition keeps others than the two.
        undecodable = list(decoding_errors(pruned(SCHEMA, job)))
        rejected += bool(undecodable)
        if undecodable:
            assert not is_accepted(job), path
            assert list(decoding_problems(job)), path
    assert rejected > 100


def test_every_field_takes_a_right_value() -> None:
    for path in PATHS:
        job = job_with(path, right(schema_at(path)))
        if "Launcher" not in job.get("spec", {}).get("mpiReplicaSpecs", {}):
            job.setdefault("spec", {}).setdefault("mpiReplicaSpecs", {})["Launcher"] = {}
        document = stored(SCHEMA, job)
        assert list(decoding_errors(document)) == [], path
        assert list(decoding_problems(job)) == [], path


AMOUNT_LIKE = st.text("+-.0123456789eEinumkKMGTPB ", max_size=8) | st.from_regex(
    r"[+-]?[0-9]{0,3}\.?[0-9]{0,2}([numkKMGTPE]i?|[eE][+-]?[0-9]{0,4})?", fullmatch=True
)
TIME_LIKE = st.from_regex(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{0,12})?(Z|[+-][0-2][0-9]:?[0-6]0)?",
    fullmatch=True,
) | st.from_regex(r"[0-9]{4}-(02-(28|29|30)|0[4-9]-(30|31))T00:00:00Z", fullmatch=True)

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, 10**30])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(-1000, 1000, places=2).map(float)
    | st.text(max_size=8)
    | AMOUNT_LIKE
    | TIME_LIKE,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "value", "items", "containers", "x"]), inner, max_size=3)
    ),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(path=st.sampled_from(PATHS), value=JUNK)
def test_whatever_the_definition_accepts_go_decodes(path: tuple[str | int, ...], value: Any) -> None:
    job = job_with(path, value)
    job["spec"] = {"mpiReplicaSpecs": {"Launcher": {}}} | (job.get("spec") or {}) if path[0] != "spec" else job["spec"]
    try:
        document = stored(SCHEMA, job)
    except Rejected:
        return
    assert list(decoding_errors(document)) == []
    assert list(decoding_problems(document)) == []


@settings(max_examples=100, deadline=None)
@given(path=st.sampled_from(PATHS), value=JUNK)
def test_whatever_go_cannot_decode_is_a_problem(path: tuple[str | int, ...], value: Any) -> None:
    job = job_with(path, value)
    assert list(decoding_failures(job)) or not list(decoding_errors(pruned(SCHEMA, job)))


@settings(max_examples=100, deadline=None)
@given(job=JUNK)
def test_no_job_raises(job: Any) -> None:
    list(decoding_problems(job))


def pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i", **container}]}}


def launched(template: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"mpiReplicaSpecs": {"Launcher": {"template": template}}, **spec}}


@pytest.mark.parametrize(
    "job",
    [
        launched(pod(resources={"limits": {"memory": "8GiB"}})),
        launched(pod(command="sshd -De")),
        launched(pod(env=[{"name": "A", "value": 1}])),
        launched({"metadata": {"annotations": {"a": 1}}, **pod()}),
        launched(pod(), runPolicy={"schedulingPolicy": {"minResources": {"cpu": "lots"}}}),
        launched(pod(resources={"limits": {"cpu": "1e2.5"}})),
        launched({"metadata": {"creationTimestamp": []}, **pod()}),
        launched(pod()) | {"status": {"replicaStatuses": {"Worker": {"labelSelector": {"matchLabels": {"a": 1}}}}}},
    ],
)
def test_one_such_job_would_stop_the_operator(job: dict[str, Any]) -> None:
    assert list(decoding_errors(job))
    assert not is_accepted(job)


def test_submit_finds_the_number_that_no_schema_rejects() -> None:
    (problem,) = decoding_problems(launched(pod(), slotsPerWorker=1.000000001))
    assert problem.path == ("spec", "slotsPerWorker")


def valid_manifests() -> Iterator[Any]:
    for path in sorted((ROOT / "tests/workloads/lint/manifests").glob("*.yaml")):
        for document in read_manifest(path):
            is_job = isinstance(document.content, dict) and document.content.get("apiVersion") == "kubeflow.org/v2beta1"
            # One is for envsubst.
            if is_job and "${" not in document.yaml.text:
                yield pytest.param(document.content, id=path.stem)


@pytest.mark.parametrize(
    "job",
    [
        launched(pod()),
        launched({"metadata": {"creationTimestamp": None, "labels": {"a": "b"}}, **pod()}),
        launched(pod(), launcherCreationPolicy="", sshAuthMountPath=""),
        {"spec": {"mpiReplicaSpecs": {"Launcher": {"restartPolicy": "", "template": pod()}}}},
        launched(pod(resources={"limits": {"cpu": 4, "memory": "1.5Gi", "nvidia.com/gpu": "8"}})),
        launched(pod(readinessProbe={"tcpSocket": {"port": "ssh"}})),
        *valid_manifests(),
    ],
)
def test_accepts_what_is_valid_without_dropping_a_field(job: dict[str, Any]) -> None:
    document = stored(SCHEMA, job)
    assert list(decoding_errors(document)) == []
    assert missing(without_nulls(job["spec"]), document["spec"]) == []


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def missing(before: Any, after: Any) -> list[Any]:
    if isinstance(before, dict):
        return [
            found
            for name, one in before.items()
            for found in ([name] if name not in after else missing(one, after[name]))
        ]
    if isinstance(before, list):
        return [found for one, other in zip(before, after, strict=True) for found in missing(one, other)]
    return [] if before == after else [before]


# Cases of https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/resource/quantity_test.go
AMOUNTS = """0 1 5n 4u 3m 8k 50k 7M 6G 5T 2P 1E 1Ki 10Ti 9Ei 1E-3 1e9 1E18 0.5e-1 1.3E+6 0.0005k 9.01 100.035Ki 0.9n 12E
.001 1. 1.G +1.5 -1025m 9223372036854775807Ki 0.000000000001Ki""".split()
NOT_AMOUNTS = """1.1.M 1+1.0M 0.1mi 0.1am aoeu .5i 1i -3.01i -3.01e- 8GiB lots 1e 1e+ 1e2.5 0x10 1KI 1ki 1K 512MB --1 Ei
1e99999999999999999999""".split()
NOT_AMOUNTS += ["", "1 Gi", "2Gi 1"]
# ParseQuantity reads zero, or drops the upper bits of the exponent.
MISTAKES = [".", "-.", "Gi", "m", "+", "1e4294967296"]


def with_amount(amount: str) -> dict[str, Any]:
    return launched(pod(resources={"limits": {"cpu": amount}}))


def accepts(amount: str) -> bool:
    return is_accepted(with_amount(amount))


@pytest.mark.parametrize("amount", AMOUNTS)
def test_amounts(amount: str) -> None:
    assert parses_as_quantity(amount)
    assert accepts(amount)


@pytest.mark.parametrize("amount", NOT_AMOUNTS)
def test_texts_that_are_no_amounts(amount: str) -> None:
    assert not parses_as_quantity(amount)
    assert not accepts(amount)


@pytest.mark.parametrize("amount", MISTAKES)
def test_texts_that_go_reads_as_another_amount(amount: str) -> None:
    assert parses_as_quantity(amount)
    assert not accepts(amount)


def with_times(text: str) -> dict[str, Any]:
    return launched({"metadata": {"creationTimestamp": text}, **pod()}) | {"status": {"startTime": text}}


TIMES = """2026-11-22T13:00:00Z 2026-11-22T13:00:00.123456789+05:30 2024-02-29T00:00:00Z
2000-02-29T23:59:59-11:59""".split()
NOT_TIMES = """now 2026-11-22 2026-11-22T13:00:00 2026-02-29T00:00:00Z 2026-04-31T00:00:00Z 1900-02-29T00:00:00Z
2026-13-01T00:00:00Z 2026-11-22T24:00:00Z 2026-11-22T13:60:00Z""".split()
NOT_TIMES += ["", "2026-11-22 13:00:00Z"]


@pytest.mark.parametrize("text", TIMES)
def test_times(text: str) -> None:
    assert list(decoding_errors(with_times(text))) == []
    assert is_accepted(with_times(text))


@pytest.mark.parametrize("text", NOT_TIMES)
def test_texts_that_are_no_times(text: str) -> None:
    assert len(list(decoding_errors(with_times(text)))) == 2
    assert not is_accepted(with_times(text))


@settings(max_examples=100, deadline=None)
@given(TIME_LIKE)
def test_whatever_time_the_definition_accepts_go_decodes(text: str) -> None:
    assert not is_accepted(with_times(text)) or list(decoding_errors(with_times(text))) == []


@settings(max_examples=100, deadline=None)
@given(AMOUNT_LIKE)
def test_whatever_amount_the_definition_accepts_go_parses(amount: str) -> None:
    assert parses_as_quantity(amount) or not accepts(amount)


@settings(max_examples=100, deadline=None)
@given(AMOUNT_LIKE, st.sampled_from(["", " ", "\n", "\u00a0", "\u2028"]))
@example("e-10", "")
@example("", " ")
def test_only_an_amount_for_which_go_returns_an_error_stops_the_operator(amount: str, space: str) -> None:
    job = with_amount(amount + space)
    assert bool(list(decoding_failures(job))) == bool(list(decoding_errors(job)))
