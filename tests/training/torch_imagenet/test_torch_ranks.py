"""How the ranks of a start find each other at a store that the last start has used."""

import multiprocessing
import os
import signal
import time
from multiprocessing.queues import SimpleQueue
from typing import Any

import pytest
import torch.distributed as dist

from tests.training.mpirun import PATIENCE
from training.runtime import ranks
from training.runtime.stop_request import StopRequest
from training.torch_imagenet import torch_ranks


@pytest.fixture
def store() -> dist.TCPStore:
    """Return the store of an agent of torchrun, which keeps it for all starts of its ranks."""
    return dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def start(store: dist.TCPStore, *, size: int, late: float) -> list[Any]:
    """Return what the ranks of a start learn from each other; rank zero starts later by `late` seconds."""
    context = multiprocessing.get_context("fork")
    found = context.SimpleQueue()
    given = [(found, store.port, rank, size, 0.0 if rank else late) for rank in range(size)]
    processes = [context.Process(target=_meet, args=each) for each in given]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    codes = [each.exitcode for each in processes]
    for process in processes:
        process.kill()
    assert codes == [0] * size
    return sorted(found.get() for _ in range(size))


def _meet(found: "SimpleQueue[Any]", port: int, rank: int, size: int, late: float) -> None:
    time.sleep(late)
    numbers = {"RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ.update({name: str(number) for name, number in numbers.items()})
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_USE_AGENT_STORE": "True"})
    with torch_ranks.connected():
        found.put((rank, ranks.current().gather(rank * 10, "numbers")))


def test_the_ranks_find_each_other_although_the_store_has_the_addresses_of_the_last_start(store: dist.TCPStore) -> None:
    for size, late in ((2, 0.0), (2, 1.0), (3, 1.0), (2, 1.0)):
        expected = [rank * 10 for rank in range(size)]
        assert start(store, size=size, late=late) == [(rank, expected) for rank in range(size)]


def test_a_question_of_a_rank_that_was_lost_changes_nothing(store: dist.TCPStore) -> None:
    # It was lost before rank zero answered.
    store.set("start/1", "lost")
    assert start(store, size=2, late=0.0) == [(0, [0, 10]), (1, [0, 10])]


def test_a_rank_alone_waits_for_no_other(store: dist.TCPStore) -> None:
    assert start(store, size=1, late=0.0) == [(0, [0])]


def test_a_rank_stops_when_its_torchrun_is_killed(store: dist.TCPStore) -> None:
    context = multiprocessing.get_context("fork")
    found = context.SimpleQueue()
    torchrun = context.Process(target=_start_a_rank, args=(found, store.port))
    torchrun.start()
    assert found.get() == "connected"
    torchrun.kill()
    assert found.get() == "stopped"
    torchrun.join(PATIENCE)


def _start_a_rank(found: "SimpleQueue[Any]", port: int) -> None:
    multiprocessing.get_context("fork").Process(target=_wait_for_a_stop_request, args=(found, port)).start()
    signal.pause()


def _wait_for_a_stop_request(found: "SimpleQueue[Any]", port: int) -> None:
    os.environ.update({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    stop, deadline = StopRequest(), time.monotonic() + 30
    with torch_ranks.connected():
        found.put("connected")
        while not stop.received and time.monotonic() < deadline:
            time.sleep(0.05)
        found.put("stopped" if stop.received else "not stopped after 30 s")
