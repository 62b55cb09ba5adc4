"""A cluster, and the program that uses it."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.fake_api import serve
from tests.workloads.cluster.fake_cluster import FakeCluster, write_kubeconfig
from training_workloads.cli import cluster_commands, main
from training_workloads.cluster import polling


@dataclass
class Result:
    """The result of a run of the program."""

    code: int
    out: str
    err: str


Program = Callable[..., Result]


@dataclass
class Clock:
    """The clock of the commands, in which only their own pauses take time: no test depends on the machine's speed."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Run the program in this process, in a folder without `cluster.yaml`, with which jobs would be compared."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["trainctl", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0, output.out, output.err)

    return run


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.fixture
def cluster(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """A cluster with the namespace `team`; the commands poll it without waiting."""
    clock = Clock()
    for module in (polling, cluster_commands):
        monkeypatch.setattr(module, "time", clock)
    fake = FakeCluster()
    fake.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    server = serve(fake)
    write_kubeconfig(kubeconfig, f"http://127.0.0.1:{server.server_port}")
    yield fake
    fake.released.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def mpi_job() -> Callable[..., dict[str, Any]]:
    """An MPIJob of two workers with eight ranks each, with the operator's status."""

    def make(
        name: str = "digits", *conditions: str, command: tuple[str, ...] = ("mpirun", "-np", "16"), **spec: Any
    ) -> dict[str, Any]:
        containers = {"containers": [{"name": "launcher", "command": list(command)}]}
        replicas = {"Launcher": {"template": {"spec": containers}}, "Worker": {"replicas": 2}}
        return {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": {"name": name},
            "spec": {"slotsPerWorker": 8, "mpiReplicaSpecs": replicas, **spec},
            "status": {
                "startTime": "2026-11-21T10:00:10Z",
                "conditions": [condition(each, second) for second, each in enumerate(conditions)],
            },
        }

    return make


@pytest.fixture
def torch_job() -> Callable[..., dict[str, Any]]:
    """A Job of torchrun with two workers of eight ranks each, as `TorchElasticJob` renders it."""

    def make(name: str = "digits", *, nodes: str = "1:4", **spec: Any) -> dict[str, Any]:
        command = ["torchrun", f"--nnodes={nodes}", "--nproc-per-node=8", "--no-python", "train"]
        labels = {"training.kubeflow.org/job-name": name, "training.kubeflow.org/job-role": "worker"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "worker", "command": command}]}}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": template, **spec},
            "status": {"startTime": "2026-11-21T10:00:10Z", "ready": 2},
        }

    return make


def indexed(pod: dict[str, Any], number: int, job: str = "digits") -> dict[str, Any]:
    """Return a pod with the labels that Kubernetes gives to those of an Indexed Job."""
    of_job = {"batch.kubernetes.io/job-name": job, "batch.kubernetes.io/job-completion-index": str(number)}
    pod["metadata"]["labels"] |= of_job
    return pod


def condition(kind: str, second: int = 0) -> dict[str, str]:
    return {
        "type": kind,
        "status": "True",
        "reason": f"MPIJob{kind}",
        "message": f"the operator says {kind}",
        "lastTransitionTime": f"2026-11-21T10:01:{second:02}Z",
    }


@pytest.fixture
def pod() -> Callable[..., dict[str, Any]]:
    """A pod of the job `digits`; it runs and is ready unless its status says otherwise."""

    def make(name: str, role: str, *, job: str = "digits", second: int = 0, **status: Any) -> dict[str, Any]:
        running = {"name": role, "restartCount": 0, "state": {"running": {}}}
        labels = {"training.kubeflow.org/job-name": job, "training.kubeflow.org/job-role": role}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels, "creationTimestamp": f"2026-11-21T10:00:{second:02}Z"},
            "spec": {"nodeName": "node-a", "containers": [{"name": role}]},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [running],
                **status,
            },
        }

    return make


@pytest.fixture
def claims(cluster: FakeCluster) -> None:
    for name in ("training-lustre", "home"):
        cluster.add({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}})
