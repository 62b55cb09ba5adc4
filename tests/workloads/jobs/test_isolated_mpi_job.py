import cdk8s

from tests.schemas import check_manifest
from training_workloads import HorovodJob, HorovodJobSpec, JobNetworkPolicy

PODS = {"matchLabels": {"training.kubeflow.org/job-name": "resnet"}}


def test_only_pods_of_the_same_job_reach_a_job_on_any_port() -> None:
    chart = cdk8s.Testing.chart()
    JobNetworkPolicy(chart, "Policy", job_name="resnet", namespace="research")
    (policy,) = cdk8s.Testing.synth(chart)
    check_manifest(policy)
    assert policy["metadata"] == {"name": "resnet", "namespace": "research"}
    assert policy["spec"] == {
        "podSelector": PODS,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": PODS}]}],
    }


def test_a_job_of_a_spec_has_its_parts(job_spec: HorovodJobSpec) -> None:
    job = HorovodJob(cdk8s.Testing.chart(), "Job", spec=job_spec)
    assert job.spec is job_spec
    assert job.mpi_job.spec is job_spec.mpi_job
    assert job.network_policy.policy.name == "job"
