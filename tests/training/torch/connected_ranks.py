"""Ranks on Gloo as processes that are forked from a test, so that they import PyTorch once."""

import multiprocessing
import os
import warnings
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import torch.distributed as dist

from tests.training.mpirun import PATIENCE


def run(size: int, store: Path, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Return the values of a function on each rank; a SystemExit counts as its code.

    Args:
        size: Number of ranks.
        store: File through which they meet; it does not exist.
        function: Called with the arguments on each rank.
        arguments: Its arguments.
    """
    context = multiprocessing.get_context("fork")
    found: SimpleQueue[Any] = context.SimpleQueue()
    given = [(found, store, rank, size, function, arguments) for rank in range(size)]
    processes = [context.Process(target=_rank, args=each) for each in given]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    codes = [each.exitcode for each in processes]
    for process in processes:
        process.kill()
    assert codes == [0] * size
    return [value for _, value in sorted((found.get() for _ in range(size)), key=lambda each: int(each[0]))]


def _rank(
    found: "SimpleQueue[Any]", store: Path, rank: int, size: int, function: Callable[..., Any], arguments: Any
) -> None:
    warnings.resetwarnings()
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    try:
        value = function(*arguments)
    except SystemExit as end:
        value = end.code
    found.put((rank, value))
    dist.barrier()
    # Without the end of the tests, which this process has a copy of.
    os._exit(0)
