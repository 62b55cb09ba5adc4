"""The values of an MPIJob that stop the operator are named, each with what to write instead."""

from typing import Any

import pytest

from training_workloads.mpijob.decoding import decoding_failures, decoding_problems


def job(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "image": "i", **(container or {})}]}}
    return {"spec": {"mpiReplicaSpecs": {"Launcher": {"template": template}}, **spec}}


CONTAINER = "spec.mpiReplicaSpecs.Launcher.template.spec.containers[0]"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            job({"resources": {"limits": {"memory": "8GiB"}}}),
            f"'{CONTAINER}.resources.limits.memory' is '8GiB', but it is not an amount of Kubernetes; write 8Gi",
        ),
        (
            job({"resources": {"requests": {"memory": "512 KB"}}}),
            f"'{CONTAINER}.resources.requests.memory' is '512 KB', but it is not an amount of Kubernetes; write 512k",
        ),
        (
            job({"command": "sshd -De"}),
            f"'{CONTAINER}.command' is 'sshd -De', but the field takes a list; give a list, such as ['sshd', '-De']",
        ),
        (
            job({"env": [{"name": "A", "value": 1}]}),
            f"'{CONTAINER}.env[0].value' is 1, but the field takes text; write it in quotes",
        ),
        (
            job({"ports": [{"containerPort": "22"}]}),
            f"'{CONTAINER}.ports[0].containerPort' is '22', but the field takes a whole number; "
            "write 22 without quotes",
        ),
        (
            job({"ports": [{"containerPort": 2**31}]}),
            f"'{CONTAINER}.ports[0].containerPort' is 2147483648, but the field has 32 bits; "
            "give a whole number from -2147483648 to 2147483647",
        ),
        (
            job({"readinessProbe": {"tcpSocket": {"port": 1.5}}}),
            f"'{CONTAINER}.readinessProbe.tcpSocket.port' is 1.5, but the field takes a whole number or text; "
            "give a whole number or text",
        ),
        (
            job({"tty": "yes"}),
            f"'{CONTAINER}.tty' is 'yes', but the field takes true or false; give true or false",
        ),
        (
            job(runPolicy={"schedulingPolicy": {"minResources": {"cpu": "lots"}}}),
            "'spec.runPolicy.schedulingPolicy.minResources.cpu' is 'lots', but it is not an amount of Kubernetes; "
            "give one such as 4, 500m or 512Mi",
        ),
        (
            {"spec": {"mpiReplicaSpecs": {"Worker": {"template": {"metadata": {"annotations": {"a": 1}}}}}}},
            "'spec.mpiReplicaSpecs.Worker.template.metadata.annotations.a' is 1, but the field takes text; "
            "write it in quotes",
        ),
        (
            {"spec": ["slotsPerWorker"]},
            "'spec' is ['slotsPerWorker'], but the field takes a mapping; give a mapping of names to values",
        ),
        (
            {"status": {"startTime": "2026-02-31T00:00:00Z"}},
            "'status.startTime' is '2026-02-31T00:00:00Z', but it is not a time of Kubernetes; "
            "give one such as 2026-11-22T13:00:00Z",
        ),
    ],
)
def test_names_the_value_and_what_to_write(document: dict[str, Any], message: str) -> None:
    assert [str(problem) for problem in decoding_problems(document)] == [message]


# UnmarshalJSON trims the text, ParseQuantity takes no digits as zero:
# https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/resource/quantity.go
@pytest.mark.parametrize(
    ("amount", "fix"),
    [
        ("8Gi ", "write 8Gi, without space"),
        ("\u00a08Gi", "write 8Gi, without space"),
        ("Gi", "give one such as 4, 500m or 512Mi"),
        (".", "give one such as 4, 500m or 512Mi"),
    ],
)
def test_an_amount_that_go_takes_all_the_same_is_a_problem_and_stops_nothing(amount: str, fix: str) -> None:
    document = job({"resources": {"limits": {"memory": amount}}})
    (problem,) = decoding_problems(document)
    assert (problem.given, problem.fix) == (amount, fix)
    assert list(decoding_failures(document)) == []


@pytest.mark.parametrize("amount", ["8GiB", "8Gi\n", " ", "", "Ei", "8 Gi"])
def test_an_amount_that_go_rejects_stops_the_operator(amount: str) -> None:
    assert list(decoding_failures(job({"resources": {"limits": {"memory": amount}}})))


@pytest.mark.parametrize(
    "document",
    [
        job(),
        job({"env": None, "command": None, "resources": {"limits": {"cpu": 0.5, "memory": 2**30}}}),
        job({"args": [None], "ports": [{"containerPort": 22.0}]}),
        job({"resources": {"limits": {"cpu": 10**400}}}),
        # The operator drops what it does not know, and the API server checks the metadata.
        job({"comand": "sshd", "image": "i"}, slots=1.5) | {"metadata": {"labels": {"a": 1}}},
    ],
)
def test_accepts_what_the_operator_decodes(document: dict[str, Any]) -> None:
    assert list(decoding_problems(document)) == []


@pytest.mark.parametrize("document", [5, "job", [], True, 1.5])
def test_a_job_of_another_shape(document: Any) -> None:
    (problem,) = decoding_problems(document)
    assert (problem.path, problem.given) == ((), document)


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), True, [], {}, "", "9" * 10_000 + "x"])
def test_an_odd_amount_raises_nothing(amount: Any) -> None:
    (problem,) = decoding_problems(job({"resources": {"limits": {"cpu": amount}}}))
    assert problem.path[-1] == "cpu"
