from typing import Any

import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import HorovodJob, HorovodJobSpec, JobNetworkPolicy

PODS = {"matchLabels": {"training.kubeflow.org/job-name": "resnet"}}


@pytest.fixture(scope="module")
def policy() -> dict[str, Any]:
    chart = cdk8s.Testing.chart()
    JobNetworkPolicy(chart, "Policy", job_name="resnet", namespace="research")
    (document,) = cdk8s.Testing.synth(chart)
    return dict(document)


def test_it_is_valid(policy: dict[str, Any]) -> None:
    check_manifest(policy)


def test_only_pods_of_the_same_job_reach_a_job_on_any_port(policy: dict[str, Any]) -> None:
    assert policy["metadata"] == {"name": "resnet", "namespace": "research"}
    assert policy["spec"] == {
        "podSelector": PODS,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": PODS}]}],
    }


def test_connections_from_the_job_stay_open(policy: dict[str, Any]) -> None:
    assert "egress" not in policy["spec"]


def test_without_a_namespace_it_is_in_that_of_the_job() -> None:
    chart = cdk8s.Testing.chart()
    JobNetworkPolicy(chart, "Policy", job_name="resnet")
    (document,) = cdk8s.Testing.synth(chart)
    assert document["metadata"] == {"name": "resnet"}
    check_manifest(document)


def test_a_job_of_a_spec_has_its_parts(job_spec: HorovodJobSpec) -> None:
    job = HorovodJob(cdk8s.Testing.chart(), "Job", spec=job_spec)
    assert job.spec is job_spec
    assert job.mpi_job.spec is job_spec.mpi_job
    assert job.network_policy.policy.name == "job"
