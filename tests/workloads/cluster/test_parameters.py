"""Values of options and arguments that no cluster needs to see."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import FakeCluster
from training_workloads.cli.cluster_output import short_time

MpiJob = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *((("status",), name) for name in ("", "../../x", "..", "Digits", "a/b", "a%2fb")),
        *(((command,), "..") for command in ("logs", "wait", "cancel", "scale")),
        (("logs", "-f"), ".."),
        (("cancel", "digits"), ".."),
    ],
)
def test_rejects_an_invalid_name_of_a_job(
    program: Program, cluster: FakeCluster, command: tuple[str, ...], name: str
) -> None:
    result = program(*command, name, *["3"] * (command == ("scale",)))
    message = f"error: 'NAME' is '{name}'; give the name of a job, as 'trainctl list' shows it\n"
    assert (result.code, result.out, result.err) == (2, "", message)
    assert cluster.requests == []


@pytest.mark.parametrize(
    ("command", "namespace"),
    [
        *((("list",), namespace) for namespace in ("", "..", "Team")),
        *((command, "Team") for command in (("status", "digits"), ("cancel", "digits"), ("submit", "job.yaml"))),
    ],
)
def test_rejects_an_invalid_namespace(
    program: Program, cluster: FakeCluster, command: tuple[str, ...], namespace: str
) -> None:
    rule = "lower-case letters, digits and '-', at most 63"
    result = program(*command, "-n", namespace)
    assert (result.code, result.err) == (2, f"error: '--namespace' is '{namespace}'; give {rule}\n")
    assert cluster.requests == []


@pytest.mark.parametrize("timeout", ["soon", "-1", "1.5h", ""])
def test_rejects_an_invalid_time(program: Program, cluster: FakeCluster, timeout: str) -> None:
    message = f"error: '--timeout' is '{timeout}'; give seconds, or a number with s, m, h or d, such as 10m\n"
    result = program("wait", "digits", f"--timeout={timeout}")
    assert (result.code, result.err) == (2, message)


@pytest.mark.parametrize("workers", ["many", "1.5", "", "0", "99999999999999999999"])
def test_rejects_an_invalid_number_of_workers(program: Program, cluster: FakeCluster, workers: str) -> None:
    result = program("scale", "digits", workers)
    assert (result.code, result.err) == (
        2,
        f"error: 'WORKERS' is '{workers}'; give a whole number from 1 to 999999999\n",
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("logs", "digits", "--worker", "-1"), "'--worker' is -1; give 0 or more"),
        (("scale", "digits", "0"), "'WORKERS' is '0'; give a whole number from 1 to 999999999"),
        (
            ("cancel", "digits", "--finished"),
            "'NAME' is 'digits', but '--finished' chooses the jobs; give one of the two",
        ),
    ],
)
@pytest.mark.usefixtures("kubeconfig")
def test_rejects_values_without_a_kubeconfig(program: Program, arguments: tuple[str, ...], problem: str) -> None:
    result = program(*arguments)
    assert (result.code, result.err) == (2, f"error: {problem}\n")


@pytest.mark.parametrize(("given", "shown"), [("1", "1s"), ("1s", "1s"), ("0m", "0s")])
def test_a_deadline_is_reported_with_its_unit(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, given: str, shown: str
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    result = program("wait", "digits", "--timeout", given, "--json")
    assert (result.code, json.loads(result.out)["state"]) == (4, "Running")
    assert result.err.startswith(f"error: 'digits' has not ended within {shown}; job 'digits' still runs")


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (59, "59s"), (60, "1m"), (3725, "1h2m"), (90061, "1d1h")])
def test_times_have_their_two_largest_units(seconds: int, text: str) -> None:
    assert short_time(timedelta(seconds=seconds)) == text
    assert short_time(None) == "-"
