"""Whole runs on two hosts in network namespaces: trained, stopped, resumed, and compared with those of mpirun."""

import json
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.mpirun import Run
from tests.training.pods import namespace_hosts
from tests.training.pods.namespace_hosts import THREADS_OF_TWO, NamespaceHosts
from training.runtime import checkpoint

pytestmark = [
    pytest.mark.whole_run,
    pytest.mark.skipif(namespace_hosts.why_not() is not None, reason=str(namespace_hosts.why_not())),
]

RUN = "checkpoints/digits"
PROGRAM = ("--processes-per-host", "1", "--", sys.executable, "-m", "training.digits", "--output-dir", f"/opt/ml/{RUN}")


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[NamespaceHosts]:
    with NamespaceHosts(tmp_path, 2) as made:
        yield made


def start(hosts: NamespaceHosts, full: str = "", room_kib: int = 0) -> None:
    hosts.hosts[0].start(*PROGRAM, full=full, room_kib=room_kib, variables=THREADS_OF_TWO)
    hosts.hosts[1].start(*PROGRAM, variables=THREADS_OF_TWO)


def state(folder: Path) -> list[bytes]:
    found = checkpoint.newest(folder / "checkpoints")
    assert found is not None
    return [array.tobytes() for array in found.arrays]


def test_a_stopped_run_resumes_in_new_containers_and_ends_as_under_mpirun(
    hosts: NamespaceHosts, finished: Run, tmp_path: Path
) -> None:
    start(hosts)
    first, second = hosts.hosts
    first.wait_for("epoch 3/12")
    for host in hosts.hosts:
        host.send(signal.SIGTERM)
    assert hosts.codes() == [75, 75], first.log
    # A Spot interruption: new containers, in each of which SageMaker restores the folder of checkpoints from S3.
    for host in hosts.hosts:
        for folder in ("output", "model"):
            shutil.rmtree(host.ml / folder)
            (host.ml / folder).mkdir()
    shutil.rmtree(second.ml / "checkpoints")
    shutil.copytree(first.ml / "checkpoints", second.ml / "checkpoints")
    start(hosts)
    assert hosts.codes() == [0, 0], first.log
    assert "resuming after step" in first.log
    assert state(first.ml / RUN) == state(finished.output)
    results = json.loads((first.ml / "output/data/digits/results.json").read_text())
    assert results["accuracy"] == json.loads((finished.output / "results.json").read_text())["accuracy"] >= 0.95
    # Rank zero alone prints and writes.
    assert first.log.count("epoch 12/12") == 1
    assert "epoch" not in second.log
    assert list((second.ml / "output/data").iterdir()) == []
    assert any((first.ml / "output/data/digits/tensorboard").iterdir())


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_host_ends_the_ranks_of_the_other(hosts: NamespaceHosts, killed: int) -> None:
    start(hosts)
    hosts.hosts[0].wait_for("epoch 2/12")
    hosts.hosts[killed].send(signal.SIGKILL)
    codes = hosts.codes()
    assert codes[1 - killed] == 1
    assert hosts.hosts[1 - killed].failure.startswith(f"lost: algo-{killed + 1}, ")


def test_a_disk_that_is_full_ends_both_hosts_with_the_reason(hosts: NamespaceHosts) -> None:
    start(hosts, full="checkpoints")
    assert hosts.codes() == [2, 2]
    assert {host.failure for host in hosts.hosts} == {
        "algo-1: user 0 cannot write in /opt/ml/checkpoints (No space left on device); the ranks need room there"
    }


def test_a_disk_that_becomes_full_does_not_end_the_training(hosts: NamespaceHosts) -> None:
    # Two checkpoints of 0.7 MiB. As on a cluster, later ones are a warning each.
    start(hosts, full="checkpoints", room_kib=1800)
    assert hosts.codes() == [0, 0]
    assert "could not be written" in hosts.hosts[0].log
    assert "No space left on device" in hosts.hosts[0].log
    assert (hosts.hosts[0].ml / "output/data/digits/results.json").exists()


def test_a_users_mistake_ends_both_hosts_with_the_programs_words(hosts: NamespaceHosts) -> None:
    hosts.hyperparameters(epochs="0")
    start(hosts)
    assert hosts.codes() == [2, 2]
    (reason,) = {host.failure for host in hosts.hosts}
    assert reason.endswith(": the ranks ended with exit code 2: '--epochs' is 0; give 1 or more")
