"""A cluster in an account, and the program with its group `cluster`."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount
from tests.workloads.cluster.fake_api import serve
from tests.workloads.cluster.fake_cluster import FakeCluster, write_kubeconfig
from training_workloads.cli import main


@dataclass
class Kubernetes:
    """The fake API server of a cluster."""

    fake: FakeCluster
    address: str

    def known_to(self, account: StubbedAccount, *, endpoint: str = "", protected: bool = False) -> None:
        """Say at which address EKS has the cluster."""
        cluster = {"name": "training", "endpoint": endpoint or self.address, "deletionProtection": protected}
        found = {"cluster": cluster}
        account.answer("eks", "describe_cluster", found, {"name": "training"})

    def add(self, kind: str, name: str, version: str = "v1", **content: Any) -> None:
        """Store an object."""
        metadata = {"name": name, **content.pop("metadata", {})}
        self.fake.add({"apiVersion": version, "kind": kind, "metadata": metadata, **content})

    def add_job(self, name: str, *, ended: bool = False) -> None:
        """Store a job of the namespace `team`."""
        conditions = [{"type": "Complete", "status": "True"}] if ended else []
        self.add("Job", name, "batch/v1", spec={"template": {"spec": {}}}, status={"conditions": conditions})


@pytest.fixture
def kubernetes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kubernetes]:
    fake = FakeCluster()
    fake.kinds["v1"] = [*fake.kinds["v1"], ("nodes", "Node", False)]
    fake.kinds["apps/v1"] = [("daemonsets", "DaemonSet", True), ("deployments", "Deployment", True)]
    server = serve(fake)
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", address)))
    yield Kubernetes(fake, address)
    fake.released.set()
    server.shutdown()
    server.server_close()


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


@dataclass
class Clock:
    """A clock that does not wait."""

    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Note a pause."""
        self.pauses.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("training_cluster.account.stack_deletion.time", clock)
    return clock


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> StubbedAccount:
    """The account of the commands."""
    stubbed = StubbedAccount()
    monkeypatch.setattr("training_cluster.account.account_requests.Account", lambda: stubbed)
    return stubbed


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command of the program in this process, in `tmp_path`; the group need not be installed."""
    mine = EntryPoint("cluster", "training_cluster.cli.cluster_commands:app", "trainctl.commands")
    known = EntryPoints([*entry_points(group="trainctl.commands"), mine])
    monkeypatch.setattr("importlib.metadata.entry_points", known.select)

    def run(*arguments: str) -> Result:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["trainctl", "cluster", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
