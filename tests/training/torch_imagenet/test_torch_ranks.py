"""How the ranks of a start find each other at a store that the last start has used."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from multiprocessing.queues import SimpleQueue
from typing import Any

import pytest
import torch.distributed as dist

from tests.training.mpirun import PATIENCE, ROOT
from training.runtime import ranks, torch_ranks
from training.runtime.stop_request import StopRequest


@pytest.fixture
def store() -> dist.TCPStore:
    """Return the store of an agent of torchrun, which keeps it for all starts of its ranks."""
    return dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def start(store: dist.TCPStore, *, size: int, late: float) -> list[Any]:
    """Return the values that the ranks of a start learn from each other; rank zero starts later by `late` seconds."""
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


# A rank that no one answers waits only this long.
_SECONDS = "2"

_PROGRAM = """\
from training.runtime import torch_ranks
raise SystemExit(torch_ranks.run(lambda: print("connected")))
"""


def ended(**variables: str) -> "subprocess.CompletedProcess[str]":
    """Return how a rank with these variables of torchrun ends."""
    environment = os.environ | variables | {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": _SECONDS}
    command = [sys.executable, "-c", _PROGRAM]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)


WHERE = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WORLD_SIZE": "2"}, "the environment variable WORLD_SIZE is set, and RANK is not"),
        ({**WHERE, "MASTER_PORT": "any"}, "the environment variable MASTER_PORT is 'any', and no whole number"),
    ],
)
def test_a_part_of_torchruns_variables_is_a_user_s_error(variables: dict[str, str], message: str) -> None:
    end = ended(**variables)
    fix = "start the ranks with torchrun, or unset WORLD_SIZE for a process alone"
    assert (end.returncode, end.stderr) == (2, f"error: {message}; {fix}\n")


@pytest.mark.parametrize("rank", ["0", "1"])
def test_ranks_that_are_not_found_are_one_line_and_no_user_s_error(rank: str) -> None:
    with socket.socket() as found:
        # Rank zero listens itself, and no other rank comes; at the port of rank 1 nothing listens.
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
        found.close()
        end = ended(**{**WHERE, "RANK": rank, "MASTER_PORT": port})
    assert end.returncode == 1
    # PyTorch itself writes warnings of its tries.
    assert f"error: rank {rank}: the ranks do not find each other at 127.0.0.1:{port}: " in end.stderr
    assert "Traceback" not in end.stderr
