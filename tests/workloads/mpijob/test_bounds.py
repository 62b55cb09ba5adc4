"""The bounds of an MPIJob: in the definition, and with the same numbers in the spec, in `submit` and in the lint."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.lint.sample_job import changed
from tests.workloads.mpijob.api_server import Rejected, stored
from training_workloads.lint.run_rules import lint_manifest
from training_workloads.mpijob.decoding import decoding_failures, decoding_problems
from training_workloads.mpijob.definition import mpi_job_definition
from training_workloads.mpijob.mpi_job import MpiJobSpec, ReplicaSpec, RunPolicy
from training_workloads.validation import InputError

(VERSION,) = mpi_job_definition()["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]

CONTAINER = "spec.mpiReplicaSpecs.Worker.template.spec.containers[0]"
OPERATOR = "the MPI operator keeps a copy for each worker in memory"
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def entries(number: int) -> list[dict[str, str]]:
    return [{"name": f"A{each}", "value": "x"} for each in range(number)]


def containers(number: int) -> list[dict[str, str]]:
    return [{"name": f"c{each}", "image": "i"} for each in range(number)]


def labels(number: int) -> dict[str, str]:
    return {f"a{each}": "x" for each in range(number)}


# The place, what the bound allows and rejects there, and the message.
CASES: list[tuple[str, Any, Any, str]] = [
    (
        "WORKER replicas",
        5_000,
        50_000_000,
        "'spec.mpiReplicaSpecs.Worker.replicas' is 50000000, but Kubernetes supports 5000 nodes, and the MPI operator "
        "keeps all workers in memory; give 5000 or fewer",
    ),
    (
        "spec slotsPerWorker",
        8_192,
        2_147_483_647,
        "'spec.slotsPerWorker' is 2147483647, but Linux supports 8192 CPUs in a machine; give 8192 or fewer",
    ),
    (
        "spec runPolicy backoffLimit",
        10_000,
        1_000_000,
        "'spec.runPolicy.backoffLimit' is 1000000, but each launcher that failed stays as a pod, and Kubernetes "
        "deletes such pods from 12500 on; give 10000 or fewer",
    ),
    (
        "spec runPolicy activeDeadlineSeconds",
        9_223_372_036,
        9_223_372_037,
        "'spec.runPolicy.activeDeadlineSeconds' is 9223372037, but Kubernetes counts nanoseconds, and a longer time "
        "overflows: the job would end at once; give 9223372036 or fewer",
    ),
    (
        "WORKER-POD containers",
        containers(100),
        containers(101),
        f"it has 101 entries, and {OPERATOR}; give 100 entries or fewer",
    ),
    (
        "WORKER-CONTAINER env",
        entries(1_000),
        entries(1_001),
        f"it has 1001 entries, and {OPERATOR}; give 1000 entries or fewer",
    ),
    (
        "WORKER-CONTAINER args",
        ["a"] * 10_000,
        ["a"] * 10_001,
        f"it has 10001 entries, and {OPERATOR}; give 10000 entries or fewer",
    ),
    (
        "WORKER template metadata",
        {"labels": labels(1_000)},
        {"labels": labels(1_001)},
        f"it has 1001 entries, and {OPERATOR}; give 1000 entries or fewer",
    ),
    (
        "WORKER-CONTAINER image",
        "i" * 131_072,
        "i" * 131_073,
        "it has 131073 characters, and Linux gives a process no longer text; give 131072 characters or fewer",
    ),
    (
        "WORKER-CONTAINER resources",
        {"limits": {"cpu": "9" * 131_072}},
        {"limits": {"cpu": "9" * 131_073}},
        "it has 131073 characters, and Linux gives a process no longer text; give 131072 characters or fewer",
    ),
]
IDS = [place for place, *_ in CASES]


def is_accepted(job: dict[str, Any]) -> bool:
    try:
        stored(SCHEMA, job)
    except Rejected:
        return False
    return True


@pytest.mark.parametrize(("place", "allowed", "rejected", "message"), CASES, ids=IDS)
def test_the_definition_and_submit_have_the_same_bound(place: str, allowed: Any, rejected: Any, message: str) -> None:
    right, wrong = changed({place: allowed}), changed({place: rejected})
    assert is_accepted(right)
    assert list(decoding_problems(right)) == []
    assert not is_accepted(wrong)
    (problem,) = decoding_problems(wrong)
    assert str(problem).endswith(message)


def test_the_definition_requires_a_worker() -> None:
    assert is_accepted(changed({"WORKER replicas": 1}))
    assert not is_accepted(changed({"WORKER replicas": 0}))


# A number of the job, a number of its policy, and a list, a mapping and a text of a template.
OF_EACH_KIND = (
    "WORKER replicas",
    "spec runPolicy backoffLimit",
    "WORKER-POD containers",
    "WORKER template metadata",
    "WORKER-CONTAINER image",
)


@pytest.mark.parametrize(
    ("place", "allowed", "rejected", "message"), [each for each in CASES if each[0] in OF_EACH_KIND], ids=OF_EACH_KIND
)
def test_the_lint_has_it_too(place: str, allowed: Any, rejected: Any, message: str) -> None:
    rules = {"mpi-job-fields", "pod-template-bounds"}
    assert [str(found) for found in lint_manifest(changed({place: allowed})) if found.rule in rules] == []
    (finding,) = [found for found in lint_manifest(changed({place: rejected})) if found.rule in rules]
    said = f"{finding.problem}; {finding.fix}"
    assert said.rpartition(", but ")[2] == message.rpartition(", but ")[2]
    assert finding.level == "error"


def spec(**values: Any) -> MpiJobSpec:
    given: dict[str, Any] = {"name": "job", "launcher": ReplicaSpec(template=TEMPLATE), "slots_per_worker": 8}
    return MpiJobSpec(**given | {"worker": ReplicaSpec(template=TEMPLATE)} | values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: spec(worker=ReplicaSpec(template=TEMPLATE, replicas=50_000_000)),
            "'replicas' is 50000000, but Kubernetes supports 5000 nodes, and the MPI operator keeps all workers "
            "in memory; give 5000 or less",
        ),
        (
            lambda: spec(slots_per_worker=100_000),
            "'slots_per_worker' is 100000, but Linux supports 8192 CPUs in a machine; give 8192 or less",
        ),
        (
            lambda: RunPolicy(backoff_limit=10_001),
            "'backoff_limit' is 10001, but each launcher that failed stays as a pod, and Kubernetes deletes such pods "
            "from 12500 on; give 10000 or less",
        ),
        (
            lambda: RunPolicy(active_deadline_seconds=9_223_372_037),
            "'active_deadline_seconds' is 9223372037, but Kubernetes counts nanoseconds, and a longer time overflows: "
            "the job would end at once; give 9223372036 or less",
        ),
        (
            lambda: ReplicaSpec(template={"spec": {"containers": containers(101)}}),
            f"'template.spec.containers' is [{{'image': 'i', 'name': 'c0'}}, {{'image': 'i', 'name': 'c1'}}, {{'image"
            f"': 'i', 'name': 'c2'}}, {{'image': 'i', 'name': 'c3'}}, {{'image': 'i', 'name': 'c4'}}, {{'image': 'i', "
            f"'name': 'c5'}}, ...], but it has 101 entries, and {OPERATOR}; give 100 entries or fewer",
        ),
    ],
)
def test_the_spec_has_it_too(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message


def test_of_the_bounds_only_that_of_the_workers_stops_the_operator() -> None:
    for place, _, rejected, _ in CASES:
        assert bool(list(decoding_failures(changed({place: rejected})))) == (place == "WORKER replicas")


def test_a_number_beyond_its_type_has_one_problem() -> None:
    (problem,) = decoding_problems(changed({"WORKER replicas": 2**40}))
    assert str(problem).endswith("give a whole number from 1 to 5000")


def test_a_job_of_the_largest_size_that_the_api_server_takes_is_checked_in_seconds() -> None:
    started = time.monotonic()
    assert list(decoding_problems(changed({"WORKER-POD containers": [{"name": ""}] * 130_000})))
    assert time.monotonic() - started < 30
