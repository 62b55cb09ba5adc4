from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster
from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import TransientError
from training_workloads.cluster.kubeconfig import connect
from training_workloads.cluster.resources import MPI_JOBS

MakePod = Callable[..., dict[str, Any]]


@pytest.fixture
def client(cluster: FakeCluster) -> Iterator[Cluster]:
    with connect() as connected:
        yield connected


def test_a_request_needs_no_discovery(client: Cluster, cluster: FakeCluster) -> None:
    assert client.objects(MPI_JOBS) == []
    assert cluster.requests == ["GET /apis/kubeflow.org/v2beta1/namespaces/team/mpijobs"]


def test_a_name_is_one_segment_of_an_address(client: Cluster, cluster: FakeCluster) -> None:
    assert client.get(MPI_JOBS, "x/../y?z") is None
    assert cluster.requests == ["GET /apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/x%2F..%2Fy%3Fz"]
    # The address without a name is that of all objects.
    with pytest.raises(ValueError, match="name is empty"):
        client.delete(MPI_JOBS, "")


def test_the_kind_of_a_document_is_looked_up_by_its_version(client: Cluster, cluster: FakeCluster) -> None:
    found = client.resource_of({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"})
    assert (found.plural, found.namespaced) == ("networkpolicies", True)
    assert cluster.requests == ["GET /apis/networking.k8s.io/v1"]


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (200, b"<!DOCTYPE html><title>Sign in</title>"),
        (200, b"<title>Anmeldung f\xfcr G\xe4ste</title>"),
        (200, b'{"status": "ok"}'),
        (200, b"[]"),
        (200, b""),
        (302, b"moved"),
        (403, b"\n<html>Blocked</html>"),
        (404, b"<html>Not found</html>"),
    ],
)
@pytest.mark.parametrize("command", [("list",), ("status", "digits"), ("wait", "digits")])
def test_an_answer_that_is_not_from_kubernetes(
    program: Program, cluster: FakeCluster, code: int, body: bytes, command: tuple[str, ...]
) -> None:
    cluster.page = (code, body)
    result = program(*command)
    assert (result.code, result.out) == (3, "")
    assert "is not from Kubernetes" in result.err


def test_a_log_that_is_not_followed_reports_a_timeout(
    client: Cluster, cluster: FakeCluster, pod: MakePod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training_workloads.cluster.client._ANSWER_SECONDS", 0.2)
    cluster.add(pod("digits-launcher-a", "launcher"))
    cluster.failures.append(Failure("hang", "/log"))
    with pytest.raises(TransientError, match="did not answer in time"):
        list(client.log("digits-launcher-a", "launcher", follow=False, query={}))
