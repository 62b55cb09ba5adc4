"""MPIJobs that stop the operator for everyone are named where another job waits for it."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]


def malformed(mpi_job: MpiJob, name: str) -> dict[str, Any]:
    job = mpi_job(name)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = "mpirun train"
    return job


LOG = "the operator's log names the error: 'kubectl logs -n mpi-operator deployment/mpi-operator'"


def test_an_undecodable_job_of_another_user_is_named(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits"))
    cluster.add(malformed(mpi_job, "broken"), namespace="lab")
    cluster.add(malformed(mpi_job, "worse"), namespace="research")
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint == (
        "the operator stops at MPIJob 'broken' in namespace 'lab' ('spec.mpiReplicaSpecs.Launcher.template.spec."
        "containers[0].command' is 'mpirun train', but the field takes a list; give a list, such as ['mpirun', "
        "'train']) and 1 other, and as long as it does, it starts and changes no job of any user: 'trainctl cancel "
        f"broken -n lab'; {LOG}"
    )


def test_a_job_with_more_workers_than_the_operator_survives_is_named_and_can_be_cancelled(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob
) -> None:
    cluster.add(mpi_job("digits"))
    large = mpi_job("large")
    large["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 50_000_000
    cluster.add(large)
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint.startswith(
        "the operator stops at MPIJob 'large' in namespace 'team' ('spec.mpiReplicaSpecs.Worker.replicas' is "
        "50000000, but Kubernetes supports 5000 nodes, and the MPI operator keeps all workers in memory; "
        "give 5000 or fewer), and "
    )
    assert "0/50000000" in program("list").out
    assert program("cancel", "large").out == "deleted MPIJob 'large'\n"


@pytest.mark.parametrize(
    ("state", "suspend", "pods", "is_named"),
    [
        # A worker of a running job is gone, or the launcher.
        ("Running", False, ("launcher-a", "worker-0"), True),
        ("Running", False, ("worker-0", "worker-1"), True),
        ("Running", False, ("launcher-a", "worker-0", "worker-1"), False),
        ("Restarting", False, (), True),
        # A queue has admitted it, and it stays suspended; or it is to be suspended, and stays as it is.
        ("Suspended", False, (), True),
        ("Suspended", True, (), False),
        ("Running", True, ("launcher-a", "worker-0", "worker-1"), True),
        ("Succeeded", False, (), False),
        ("Failed", False, (), False),
    ],
)
def test_a_stopped_operator_is_named_wherever_a_job_waits_for_it(
    program: Program,
    cluster: FakeCluster,
    mpi_job: MpiJob,
    pod: MakePod,
    state: str,
    suspend: bool,
    pods: tuple[str, ...],
    is_named: bool,
) -> None:
    cluster.add(mpi_job("digits", "Created", state, runPolicy={"suspend": suspend}))
    cluster.add(malformed(mpi_job, "broken"), namespace="lab")
    for name in pods:
        cluster.add(pod(f"digits-{name}", name.partition("-")[0]))
    hints = json.loads(program("status", "digits", "--json").out)["hints"]
    assert [hint.startswith("the operator stops at MPIJob 'broken'") for hint in hints] == (
        [True] if is_named else [False] * len(hints)
    )


def test_a_job_that_is_admitted_but_not_resumed_waits_for_the_operator(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob
) -> None:
    cluster.add(mpi_job("digits", "Suspended", runPolicy={"suspend": False}))
    assert json.loads(program("status", "digits", "--json").out)["hints"] == [
        "the operator has not resumed it: if that lasts, its log has the reason: 'kubectl logs -n mpi-operator "
        "deployment/mpi-operator'"
    ]


@pytest.mark.parametrize("amount", ["8Gi ", "Gi"])
def test_a_job_that_the_operator_decodes_is_not_to_be_cancelled(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, amount: str
) -> None:
    cluster.add(mpi_job("digits"))
    other = cluster.add(mpi_job("other", "Running"), namespace="lab")
    container = other["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"memory": amount}}
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint.startswith("the operator has not started it: ")
    container["resources"] = {"limits": {"memory": "8GiB"}}
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint.startswith("the operator stops at MPIJob 'other' in namespace 'lab' (")


@pytest.mark.parametrize("failure", [Failure(401), Failure(403), Failure(500), Failure("close")])
def test_the_state_of_a_job_is_known_without_the_other_jobs(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, failure: Failure
) -> None:
    cluster.add(mpi_job("digits"))
    cluster.add(malformed(mpi_job, "mine"))
    everywhere = dataclasses.replace(failure, path="/v2beta1/mpijobs", method="GET")
    cluster.failures.append(everywhere)
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint.startswith("the operator stops at MPIJob 'mine' in namespace 'team' (")
    # The first request is that for the job itself.
    cluster.failures.append(dataclasses.replace(failure, path="/team/mpijobs", method="GET", skipped=1))
    result = program("status", "digits", "--json")
    assert (result.code, result.err) == (0, "")
    (hint,) = json.loads(result.out)["hints"]
    assert hint.startswith("the operator has not started it: ")


def test_without_the_permission_only_the_own_namespace_is_searched(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob
) -> None:
    cluster.failures.append(Failure(403, "/v2beta1/mpijobs", "GET", message='User "u" cannot list resource "mpijobs"'))
    cluster.add(mpi_job("digits"))
    cluster.add(malformed(mpi_job, "broken"), namespace="lab")
    assert json.loads(program("status", "digits", "--json").out)["hints"] == [
        "the operator has not started it: if that lasts, its log has the reason, which may be an MPIJob of a namespace "
        "that you cannot read: 'kubectl logs -n mpi-operator deployment/mpi-operator'"
    ]
    cluster.add(malformed(mpi_job, "mine"))
    (hint,) = json.loads(program("status", "digits", "--json").out)["hints"]
    assert hint.startswith("the operator stops at MPIJob 'mine' in namespace 'team' (")


def test_an_undecodable_job_can_be_listed_and_cancelled(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob
) -> None:
    cluster.add(malformed(mpi_job, "broken"))
    assert program("list").out.splitlines()[1].split()[:3] == ["broken", "Pending", "0/2"]
    assert program("cancel", "broken").out == "deleted MPIJob 'broken'\n"


def test_a_job_that_runs_needs_no_list_of_all_jobs(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    for name in ("launcher-a", "worker-0", "worker-1"):
        cluster.add(pod(f"digits-{name}", name.partition("-")[0]))
    program("status", "digits")
    assert [each for each in cluster.requests if "/v2beta1/mpijobs" in each] == []
