from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from training_workloads.cluster.job_summaries import summarize_batch_job, summarize_mpi_job

MpiJob = Callable[..., dict[str, Any]]
IDENTITY = {"namespace": "team", "creationTimestamp": "2026-11-21T10:00:00Z"}


def placed(job: dict[str, Any]) -> dict[str, Any]:
    return job | {"metadata": IDENTITY | job["metadata"]}


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ([], "Pending"),
        (["Created"], "Created"),
        (["Created", "Running"], "Running"),
        (["Created", "Running", "Restarting"], "Restarting"),
        (["Created", "Suspended"], "Suspended"),
        (["Created", "Running", "Succeeded"], "Succeeded"),
        (["Created", "Failed", "Running"], "Failed"),
    ],
)
def test_the_newest_true_condition_decides(mpi_job: MpiJob, conditions: list[str], state: str) -> None:
    summary = summarize_mpi_job(placed(mpi_job("digits", *conditions)))
    assert summary.state == state
    assert summary.is_finished == (state in ("Succeeded", "Failed"))


def test_a_job_whose_worker_was_evicted_has_not_ended(mpi_job: MpiJob) -> None:
    job = placed(mpi_job("digits", "Created", "Running", "Failed"))
    job["status"]["conditions"][2]["reason"] = "MPIJobEvicted"
    summary = summarize_mpi_job(job)
    assert (summary.state, summary.is_finished, summary.finished) == ("Evicted", False, None)
    job["status"]["completionTime"] = "2026-11-21T10:05:00Z"
    assert summarize_mpi_job(job).state == "Failed"


def test_a_condition_that_is_false_again_does_not_decide(mpi_job: MpiJob) -> None:
    job = placed(mpi_job("digits", "Created", "Running", "Suspended"))
    job["status"]["conditions"][2]["status"] = "False"
    assert summarize_mpi_job(job).state == "Running"


def test_of_two_conditions_in_a_second_the_later_in_the_list_decides(mpi_job: MpiJob) -> None:
    job = placed(mpi_job("digits", "Created", "Running"))
    job["status"]["conditions"][1]["lastTransitionTime"] = "2026-11-21T10:01:00Z"
    assert summarize_mpi_job(job).state == "Running"


def test_an_order_by_time_that_is_not_the_lists(mpi_job: MpiJob) -> None:
    job = placed(mpi_job("digits", "Running", "Created"))
    job["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-21T10:09:00Z"
    assert summarize_mpi_job(job).state == "Running"


def test_size_and_times(mpi_job: MpiJob) -> None:
    summary = summarize_mpi_job(placed(mpi_job("digits", "Created", "Failed")), workers_ready=1)
    assert (summary.workers, summary.workers_ready, summary.slots, summary.world_size) == (2, 1, 8, 16)
    assert summary.created == datetime(2026, 11, 21, 10, tzinfo=UTC)
    # It failed without a completion time; the condition has one.
    assert summary.finished == datetime(2026, 11, 21, 10, 1, 1, tzinfo=UTC)
    assert summary.duration(datetime.now(UTC)) == timedelta(seconds=51)
    assert summary.age(datetime(2026, 11, 21, 11, tzinfo=UTC)) == timedelta(hours=1)


def test_a_job_that_has_not_started_has_no_duration(mpi_job: MpiJob) -> None:
    job = placed(mpi_job())
    del job["status"]
    summary = summarize_mpi_job(job)
    assert (summary.state, summary.started, summary.duration(datetime.now(UTC))) == ("Pending", None, None)


@pytest.mark.parametrize(
    ("command", "limits"),
    [
        (("mpirun", "-np", "16", "python"), (False, None, None)),
        (("horovodrun", "-np", "16", "--min-np", "8", "--max-np", "32", "python"), (True, 1, 4)),
        (("horovodrun", "--min-num-proc=12", "python"), (True, 2, None)),
        (("bash", "-c", "exec horovodrun -np 16 --min-np 16 --max-np 24 python"), (True, 2, 3)),
        # No shell would accept it.
        (("bash", "-c", "echo 'an open quote; horovodrun --min-np 8"), (False, None, None)),
    ],
)
def test_an_elastic_job_is_known_by_its_command(
    mpi_job: MpiJob, command: tuple[str, ...], limits: tuple[bool, int | None, int | None]
) -> None:
    summary = summarize_mpi_job(placed(mpi_job(command=command)))
    assert (summary.elastic, summary.min_workers, summary.max_workers) == limits


def test_ranks_are_those_of_the_command_unless_it_is_elastic(mpi_job: MpiJob) -> None:
    assert summarize_mpi_job(placed(mpi_job(command=("mpirun", "-np", "4")))).world_size == 4
    elastic = ("horovodrun", "-np", "4", "--min-np", "4")
    assert summarize_mpi_job(placed(mpi_job(command=elastic))).world_size == 16
    assert summarize_mpi_job(placed(mpi_job(command=("train",)))).world_size == 16


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, "Pending"),
        ({"active": 1, "ready": 0}, "Pending"),
        ({"active": 1, "ready": 1}, "Running"),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, "Succeeded"),
        ({"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}], "ready": 1}, "Running"),
        ({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}, "Failed"),
        ({"conditions": [{"type": "Suspended", "status": "True"}]}, "Suspended"),
        ({"conditions": [{"type": "Suspended", "status": "False"}], "ready": 1}, "Running"),
    ],
)
def test_the_state_of_a_batch_job(status: dict[str, Any], state: str) -> None:
    summary = summarize_batch_job(
        {"metadata": IDENTITY | {"name": "stage"}, "spec": {"parallelism": 3}, "status": status}
    )
    assert (summary.kind, summary.state, summary.workers, summary.elastic) == ("Job", state, 3, False)
