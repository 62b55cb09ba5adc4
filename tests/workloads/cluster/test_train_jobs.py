"""TrainJobs of Kubeflow Trainer 2: what the commands do with them, and what they say instead."""

from pathlib import Path

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import FakeCluster
from training_workloads import TorchElasticJobSpec
from training_workloads.rendering import render_jobs


def train_job(folder: Path) -> Path:
    """Render a TrainJob, whose kind the cluster may know."""
    spec = TorchElasticJobSpec(
        name="job", image="image:1", command=("train",), instance_type="p4d.24xlarge", workers=2, kind="TrainJob"
    )
    (path,), _ = render_jobs([spec], folder)
    return path


@pytest.mark.usefixtures("claims")
def test_creates_a_train_job_and_names_the_job_of_its_workers(
    program: Program, cluster: FakeCluster, tmp_path: Path
) -> None:
    cluster.kinds["trainer.kubeflow.org/v1alpha1"] = [("trainjobs", "TrainJob", True)]
    result = program("submit", str(train_job(tmp_path)))
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "created NetworkPolicy 'job' in namespace 'team'",
        "created TrainJob 'job' in namespace 'team'",
        "next: trainctl logs -f job-node-0",
    ]
    for command in ("status", "logs", "cancel"):
        result = program(command, "job")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            "error: 'NAME' is 'job', but it is a TrainJob, whose workers are those of the Job 'job-node-0'; give that "
            "name to status, logs and wait; 'kubectl delete trainjob job' ends it\n"
        )


@pytest.mark.usefixtures("claims")
def test_a_cluster_without_kubeflow_trainer_runs_no_train_job(
    program: Program, cluster: FakeCluster, tmp_path: Path
) -> None:
    result = program("submit", str(train_job(tmp_path)))
    assert result.code == 3
    assert result.err == (
        "error: the cluster does not know TrainJobs; install Kubeflow Trainer 2.2 or newer, or render the job without "
        "kind\n"
    )
