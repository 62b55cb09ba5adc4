"""Agents of torchrun on two hosts in network namespaces, started by SageMaker's entry point."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.pods import namespace_hosts
from tests.training.pods.namespace_hosts import NamespaceHosts
from tests.training.torch_imagenet.forked_ranks import OPTIONS, Ranks
from training.runtime import checkpoint

pytestmark = [
    pytest.mark.whole_run,
    pytest.mark.skipif(namespace_hosts.why_not() is not None, reason=str(namespace_hosts.why_not())),
]

RANK = """
import os, signal, sys, time
import torch, torch.distributed as dist
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
dist.init_process_group("gloo")
sum = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(sum)
# In one write: the ranks of a host share its output.
sys.stdout.write(f"rank {dist.get_rank()} of {dist.get_world_size()} has {int(sum)}\\n")
if os.environ.get("FAILS") == os.environ["RANK"]:
    sys.stderr.write("error: it failed\\n")
    sys.exit(2)
while os.environ.get("WAITS") and not stopped:
    time.sleep(0.1)
dist.barrier()
dist.destroy_process_group()
sys.exit(75 if stopped else 0)
"""


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[NamespaceHosts]:
    with NamespaceHosts(tmp_path, 2) as made:
        yield made


TORCHRUN = str(Path(sys.executable).with_name("torchrun"))


def start(hosts: NamespaceHosts, **variables: str) -> None:
    (hosts.folder / "rank.py").write_text(RANK)
    for host in hosts.hosts:
        words = ("--processes-per-host", "2", "--", TORCHRUN, str(hosts.folder / "rank.py"))
        host.start(*words, variables={"OMP_NUM_THREADS": "1", **variables})


def test_torchrun_connects_the_ranks_of_all_hosts(hosts: NamespaceHosts) -> None:
    start(hosts)
    assert hosts.codes() == [0, 0], hosts.hosts[0].log + hosts.hosts[1].log
    for number, host in enumerate(hosts.hosts):
        for rank in (2 * number, 2 * number + 1):
            assert f"rank {rank} of 4 has 10" in host.log


def test_two_hosts_train_to_the_weights_of_one_machine(hosts: NamespaceHosts, digits: Path, finished: Ranks) -> None:
    program = ("-m", "tests.training.torch_imagenet.tiny_torch", "--data-dir", str(digits), *OPTIONS)
    words = ("--processes-per-host", "1", "--", TORCHRUN, *program, "--output-dir", "/opt/ml/checkpoints/run")
    cores = os.sched_getaffinity(0)
    # As many cores as two ranks of one machine have each: with other threads the sums are other ones.
    os.sched_setaffinity(0, sorted(cores)[: max(1, len(cores) // 2)])
    try:
        for host in hosts.hosts:
            host.start(*words)
    finally:
        os.sched_setaffinity(0, cores)
    assert hosts.codes() == [0, 0], hosts.hosts[0].log + hosts.hosts[1].log
    folders = [hosts.hosts[0].ml / "checkpoints/run", finished.output]
    found, expected = (checkpoint.newest(folder / "checkpoints") for folder in folders)
    assert found
    assert expected
    assert [array.tobytes() for array in found.arrays] == [array.tobytes() for array in expected.arrays]
    assert (hosts.hosts[0].ml / "output/data/run/results.json").exists()


def test_a_rank_that_fails_ends_both_hosts_with_its_code_and_reason(hosts: NamespaceHosts) -> None:
    start(hosts, FAILS="3")
    assert hosts.codes() == [2, 2], hosts.hosts[0].log + hosts.hosts[1].log
    assert {host.failure for host in hosts.hosts} == {"algo-2: the ranks ended with exit code 2: it failed"}


def test_a_stop_request_ends_the_ranks_of_both_hosts(hosts: NamespaceHosts) -> None:
    start(hosts, WAITS="yes")
    for host in hosts.hosts:
        host.wait_for("has 10")
    ranks = [rank for host in hosts.hosts for rank in host.ranks]
    for host in hosts.hosts:
        host.send(signal.SIGTERM)
    # torchrun itself ends with 1 after a signal, whatever its ranks end with.
    assert hosts.codes() == [75, 75]
    assert [host.failure for host in hosts.hosts] == ["", ""]
    assert not any(rank.is_running() for rank in ranks)
