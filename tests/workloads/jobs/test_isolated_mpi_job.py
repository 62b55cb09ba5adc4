import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import HorovodJob, HorovodJobSpec, InputError, JobNetworkPolicy, MpiJob, MpiJobSpec, ReplicaSpec

LAUNCHER = ("spec", "mpiReplicaSpecs", "Launcher", "template", "spec")
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


def test_without_a_namespace_it_is_in_that_of_the_job() -> None:
    chart = cdk8s.Testing.chart()
    JobNetworkPolicy(chart, "Policy", job_name="resnet")
    (document,) = cdk8s.Testing.synth(chart)
    assert document["metadata"] == {"name": "resnet"}
    check_manifest(document)


def plain_job(*command: str) -> MpiJobSpec:
    """Return a job whose launcher runs a command."""
    launcher = {"name": "launcher", "image": "image:1", "command": list(command)}
    worker = {"name": "worker", "image": "image:1", "readinessProbe": {"tcpSocket": {"port": 22}}}
    return MpiJobSpec(
        name="job",
        launcher=ReplicaSpec(template={"spec": {"containers": [launcher]}}),
        worker=ReplicaSpec(template={"spec": {"containers": [worker]}}, replicas=2),
        slots_per_worker=1,
    )


def test_an_error_of_the_lint_is_a_problem_with_its_path_and_value() -> None:
    with pytest.raises(InputError) as caught:
        MpiJob(
            cdk8s.Testing.chart(), "Job", spec=plain_job("mpirun", "-np", "3", "--hostfile", "/etc/mpi/hostfile", "a")
        )
    (problem,) = caught.value.problems
    assert problem.path == (*LAUNCHER, "containers", 0, "command")
    assert problem.given[:3] == ["mpirun", "-np", "3"]
    assert problem.allowed.startswith("the lint reports np-exceeds-slots: is for 3 ranks, but 2 x 1 are 2 slots")
    assert problem.fix == "write -np 2, or set slotsPerWorker to the ranks of a worker"


def test_warnings_of_the_lint_do_not_stop_the_job() -> None:
    job = MpiJob(cdk8s.Testing.chart(), "Job", spec=plain_job("mpirun", "-np", "0", "a"))
    (warning,) = job.warnings
    assert warning.endswith("[np-is-no-number]")


def test_a_job_of_a_spec_has_its_parts(job_spec: HorovodJobSpec) -> None:
    job = HorovodJob(cdk8s.Testing.chart(), "Job", spec=job_spec)
    assert job.spec is job_spec
    assert job.mpi_job.spec is job_spec.mpi_job
    assert job.mpi_job.warnings == []
    assert job.network_policy.policy.name == "job"
