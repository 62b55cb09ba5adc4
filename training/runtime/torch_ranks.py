"""The ranks that torch.distributed connects: those that torchrun has started, or this process alone."""

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from . import distributed, parent_death, ranks, watchdog
from .errors import LostProcessError, UserError

# Rank zero waits this long for the ranks that start after it.
_SECONDS_BETWEEN_ANSWERS = 0.05


class TorchRanks(ranks.Ranks):
    """The ranks of a process group on Gloo, whose values stay in the machine's memory."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        """Use a group.

        Args:
            group: Group of all ranks.
        """
        local = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        super().__init__(int(dist.get_rank()), int(dist.get_world_size()), *local)
        self._group = group

    def gather(self, value: Any, name: str) -> list[Any]:
        """Return the values of all ranks on every rank."""
        values: list[Any] = [None] * self.size()
        dist.all_gather_object(values, value, group=self._group)
        return values

    def broadcast(self, value: Any, name: str) -> Any:
        """Return rank zero's value on every rank."""
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self._group)
        return values[0]

    def broadcast_array(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return rank zero's array on every rank, each of which gives one of its shape and type."""
        # As bytes: torch has not each of NumPy's types.
        words = torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy())
        if len(words):
            dist.broadcast(words, src=0, group=self._group)
        found: NDArray[Any] = words.numpy().view(array.dtype).reshape(array.shape)
        return found

    def rows(self, vector: NDArray[Any], name: str) -> NDArray[Any]:
        """Return the vectors of all ranks, a row each."""
        own = torch.from_numpy(vector)
        found = [torch.empty_like(own) for _ in range(self.size())]
        dist.all_gather(found, own, group=self._group)
        gathered: NDArray[Any] = torch.stack(found).numpy()
        return gathered

    def average(self, vector: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Return the mean of the vectors of all ranks."""
        total = torch.from_numpy(vector.copy())
        dist.all_reduce(total, group=self._group)
        mean: NDArray[np.float32] = (total / self.size()).numpy()
        return mean

    def copy_variables(self, variables: Sequence[ranks.Variable]) -> None:
        """Give the variables of every rank the values of rank zero."""
        for variable in variables:
            value = torch.from_numpy(np.asarray(variable.numpy()))
            dist.broadcast(value, src=0, group=self._group)
            variable.assign(value.numpy())


def run(program: Callable[[], None]) -> int:
    """Connect the ranks, run a program on every rank, and return its exit code, as `distributed.run` does."""
    with ExitStack() as connection:

        def connect_and_run() -> None:
            connection.enter_context(connected())
            program()

        return distributed.run(connect_and_run)


@contextmanager
def connected() -> Iterator[None]:
    """Connect the ranks during the block; without torchrun's environment this process is alone.

    Raises:
        UserError: The environment does not say where the ranks are.
        LostProcessError: Another rank does not answer.
    """
    # Before the ranks wait for each other: the limit of their waits is the watchdog's.
    limit = timedelta(seconds=watchdog.limit())
    if "WORLD_SIZE" not in os.environ:
        yield
        return
    # Ranks whose torchrun was killed would train on, beside those of its next start: they stop, and save before.
    parent_death.send_when_the_parent_ends(signal.SIGTERM)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    # Until they are connected, rank zero prints the errors of all.
    number = os.environ.get("RANK", "")
    ranks.use(ranks.Ranks(int(number) if number.isdecimal() else 0))
    _check_environment()
    try:
        store, rank, size = next(dist.rendezvous("env://", timeout=limit))
        store.set_timeout(limit)
        part = dist.PrefixStore(_agreed_name(store, rank, size, limit), store)
        dist.init_process_group(backend, store=part, rank=rank, world_size=size, timeout=limit)
        # Apart from the gradients: an exchange of a few numbers does not wait for a GPU.
        ranks.use(TorchRanks(dist.new_group(backend="gloo", timeout=limit)))
    except (dist.DistError, TimeoutError) as error:
        address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        reason = str(error).strip().partition("\n")[0]
        raise LostProcessError(f"the ranks do not find each other at {address}: {reason}") from error
    yield
    # Not after an error: the other ranks may be lost.
    dist.destroy_process_group()


def _check_environment() -> None:
    """Reject an environment in which only a part of torchrun's variables is set."""
    fix = "start the ranks with torchrun, or unset WORLD_SIZE for a process alone"
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT", "MASTER_ADDR"):
        given = os.environ.get(name)
        if given is None:
            raise UserError(f"the environment variable WORLD_SIZE is set, and {name} is not; {fix}")
        if name != "MASTER_ADDR" and not given.isdecimal():
            raise UserError(f"the environment variable {name} is {given!r}, and no whole number; {fix}")


def _agreed_name(store: dist.Store, rank: int, size: int, limit: timedelta) -> str:
    """Return a name that the ranks of this start have, and no other start has; every rank must call it.

    torchrun lends its ranks one store for all their starts, in which the addresses of the last start still are
    (`next_rendezvous` in torch/distributed/elastic/rendezvous/dynamic_rendezvous.py of 2.15 makes it once): a rank that
    reads before the others have written would connect to a lost one. Nothing that torchrun gives the ranks has another
    value in each start: TORCHELASTIC_RESTART_COUNT does not count a node that joins, nor is it the same on all nodes.
    """
    own = uuid.uuid4().hex
    if rank:
        # A question of the last start may still be there, but no rank waits for the answer.
        store.set(f"start/{rank}", own)
        name: str = store.get(own).decode()
        store.set(f"{name}/{rank}", "")
        return name
    asked, done = ([f"{folder}/{other}" for other in range(1, size)] for folder in ("start", own))
    deadline = time.monotonic() + limit.total_seconds()
    while size > 1 and not store.check(done):
        for question in store.multi_get(asked):
            store.set(question.decode(), own)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the other ranks did not start within {limit.total_seconds():g} s; see their output")
        time.sleep(_SECONDS_BETWEEN_ANSWERS)
    return own
