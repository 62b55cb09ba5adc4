"""Two or three hosts in network namespaces, the entry point in each: how each of them ends when one fails."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.training.mpirun import PATIENCE
from tests.training.pods import namespace_hosts
from tests.training.pods.namespace_hosts import NamespaceHosts

pytestmark = pytest.mark.skipif(namespace_hosts.why_not() is not None, reason=str(namespace_hosts.why_not()))

Make = Callable[[int], NamespaceHosts]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[NamespaceHosts] = []

    def hosts(count: int) -> NamespaceHosts:
        made.append(NamespaceHosts(tmp_path, count).__enter__())
        return made[0]

    yield hosts
    for each in made:
        each.__exit__()


# A rank that saves on SIGTERM, and fails as its variables say: at a host, with a code.
RANK = """
import os, signal, sys, time
def save(*_):
    print("saved", flush=True)
    sys.exit(75)
signal.signal(signal.SIGTERM, save)
print("rank", os.environ["HOROVOD_RANK"], "of", os.environ["HOROVOD_SIZE"], "runs", flush=True)
if os.environ.get("FAILS") == os.environ["HOROVOD_HOSTNAME"]:
    time.sleep(1)
    print("error: it failed", file=sys.stderr, flush=True)
    sys.exit(int(os.environ["CODE"]))
time.sleep(float(os.environ.get("SECONDS", "600")))
"""
PROGRAM = ("--processes-per-host", "2", "--", sys.executable, "-c", RANK)


def start(hosts: NamespaceHosts, *words: str, variables: dict[str, str] | None = None) -> None:
    for host in hosts.hosts:
        host.start(*(words or PROGRAM), variables=variables)


def running(hosts: NamespaceHosts) -> list[psutil.Process]:
    """Wait until every rank runs; return all processes of all hosts."""
    for number, host in enumerate(hosts.hosts):
        for rank in (2 * number, 2 * number + 1):
            host.wait_for(f"rank {rank} of {2 * hosts.count} runs")
    return [process for host in hosts.hosts for process in (host.entry, *host.ranks)]


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []


def test_every_host_runs_its_ranks_and_ends_with_0(make: Make) -> None:
    hosts = make(3)
    start(hosts, variables={"SECONDS": "1"})
    assert hosts.codes() == [0, 0, 0]
    assert [host.log.count("runs") for host in hosts.hosts] == [2, 2, 2]
    assert [host.failure for host in hosts.hosts] == ["", "", ""]


@pytest.mark.whole_run
@pytest.mark.parametrize(("failing", "code"), [("algo-1", 2), ("algo-3", 1)])
def test_a_rank_that_fails_ends_all_hosts_with_its_code_and_reason(make: Make, failing: str, code: int) -> None:
    hosts = make(3)
    start(hosts, variables={"FAILS": failing, "CODE": str(code)})
    processes = running(hosts)
    assert hosts.codes() == [code] * 3
    reason = f"{failing}: the ranks ended with exit code {code}: it failed"
    assert {host.failure for host in hosts.hosts} == {reason}
    assert_gone(processes)


def test_a_stop_request_reaches_the_ranks_of_all_hosts(make: Make) -> None:
    hosts = make(3)
    start(hosts)
    processes = running(hosts)
    for host in hosts.hosts:
        host.send(signal.SIGTERM)
    assert hosts.codes() == [75, 75, 75]
    assert [host.log.count("saved") for host in hosts.hosts] == [2, 2, 2]
    assert [host.failure for host in hosts.hosts] == ["", "", ""]
    assert all(host.log.endswith("the ranks have ended on request, with exit code 75\n") for host in hosts.hosts)
    assert_gone(processes)


@pytest.mark.whole_run
@pytest.mark.parametrize("killed", [0, 2])
def test_a_killed_host_ends_the_others(make: Make, killed: int) -> None:
    hosts = make(3)
    start(hosts)
    processes = running(hosts)
    hosts.hosts[killed].send(signal.SIGKILL)
    codes = hosts.codes()
    assert codes.pop(killed) not in (0, None)
    assert codes == [1, 1]
    for host in hosts.hosts[:killed] + hosts.hosts[killed + 1 :]:
        assert host.failure.startswith(f"lost: {hosts.hosts[killed].name}, ")
    assert_gone(processes)


@pytest.mark.whole_run
@pytest.mark.parametrize("cut", [0, 2])
def test_a_host_whose_network_is_lost_ends_itself_and_the_others(make: Make, cut: int) -> None:
    hosts = make(3)
    start(hosts)
    processes = running(hosts)
    hosts.hosts[cut].cut()
    assert hosts.codes() == [1, 1, 1]
    lost = [host.failure.partition(",")[0] for host in hosts.hosts]
    # The first host names those that are silent; the others only know that the first one is.
    if cut == 0:
        assert lost[0] in ("lost: algo-2", "lost: algo-3")
        assert lost[1:] == ["lost: algo-1"] * 2
    else:
        assert lost == ["lost: algo-3", "lost: algo-3", "lost: algo-1"]
    assert_gone(processes)


@pytest.mark.parametrize("late", [0, 1])
def test_a_late_host_is_waited_for(make: Make, late: int) -> None:
    hosts = make(2)
    for number, host in enumerate(hosts.hosts):
        if number != late:
            host.start(*PROGRAM, variables={"SECONDS": "1"})
    hosts.hosts[1 - late].wait_for(f"waiting for 1 of 2 hosts, such as {hosts.hosts[late].name}")
    time.sleep(2)
    hosts.hosts[late].start(*PROGRAM, variables={"SECONDS": "1"})
    assert hosts.codes() == [0, 0]


@pytest.mark.whole_run
@pytest.mark.parametrize("omitted", [0, 2])
def test_a_host_that_never_appears_is_named(make: Make, omitted: int) -> None:
    hosts = make(3)
    for number, host in enumerate(hosts.hosts):
        if number != omitted:
            host.start("--timeout", "5", *PROGRAM)
    codes = hosts.codes()
    assert codes.pop(omitted) is None
    assert codes == [1, 1]
    names = ["algo-1, the first of 3 hosts, did not answer", "", "1 of 3 hosts did not report within 5 s: algo-3"]
    for number, host in enumerate(hosts.hosts):
        if number != omitted:
            assert host.failure.startswith(names[omitted])
            assert "runs" not in host.log


def test_a_stop_request_ends_a_host_that_waits(make: Make) -> None:
    hosts = make(2)
    hosts.hosts[1].start(*PROGRAM)
    hosts.hosts[1].wait_for("waiting for 1 of 2 hosts")
    hosts.hosts[1].send(signal.SIGTERM)
    assert hosts.codes() == [None, 143]


def test_a_folder_without_room_ends_all_hosts_before_the_ranks(make: Make) -> None:
    hosts = make(2)
    hosts.hosts[0].start(*PROGRAM)
    hosts.hosts[1].start(*PROGRAM, full="output")
    assert hosts.codes() == [2, 2]
    reason = "algo-2: user 0 cannot write in /opt/ml/output/data (No space left on device); the ranks need room there"
    assert hosts.hosts[0].failure == reason
    assert f"error: {reason}" in hosts.hosts[1].log
    assert "runs" not in hosts.hosts[0].log
