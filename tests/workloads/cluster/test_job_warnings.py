import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import FakeCluster

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

READINESS = "Readiness probe failed: dial tcp 10.0.0.7:2222: connect: connection refused"


def unhealthy(second: int, *, about: str = "digits-worker-0", message: str = READINESS) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about}.{second}"},
        "type": "Warning",
        "involvedObject": {"kind": "Pod", "name": about},
        "reason": "Unhealthy",
        "message": message,
        "lastTimestamp": f"2026-11-21T10:{second // 60:02}:{second % 60:02}Z",
    }


def worker(pod: MakePod, *, ready: int | None, started: int = 10) -> dict[str, Any]:
    """A worker whose container started at one second, and whose probe passed from another on."""
    condition = {"type": "Ready", "status": "False" if ready is None else "True"}
    if ready is not None:
        condition["lastTransitionTime"] = f"2026-11-21T10:{ready // 60:02}:{ready % 60:02}Z"
    running = {"running": {"startedAt": f"2026-11-21T10:00:{started:02}Z"}}
    status = {"name": "worker", "restartCount": 0, "state": running}
    return pod("digits-worker-0", "worker", conditions=[condition], containerStatuses=[status])


@pytest.mark.parametrize(
    ("second", "ready", "shown"),
    [
        (12, 14, False),
        (12, None, True),
        (90, 14, True),
        # It was ready, was not for some time, and is again.
        (600, 610, True),
    ],
)
def test_a_probe_that_fails_while_a_worker_starts_is_normal(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, second: int, ready: int | None, shown: bool
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(worker(pod, ready=ready))
    cluster.add(unhealthy(second))
    warnings = json.loads(program("status", "digits", "--json").out)["warnings"]
    assert [each["message"] for each in warnings] == [READINESS] * shown


def test_a_deleted_worker_needs_no_probe(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Failed"))
    cluster.add(unhealthy(12))
    cluster.add(unhealthy(13, message="Liveness probe failed: command timed out"))
    warnings = json.loads(program("status", "digits", "--json").out)["warnings"]
    assert [each["message"] for each in warnings] == ["Liveness probe failed: command timed out"]
