"""Ranks that act as one: rank zero prints and writes, and an error ends all ranks together."""

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import command_line, ranks, torchrun_environment
from .errors import USER_ERROR, LostFileSystemError, LostProcessError, RankError, UserError
from .ranks import Variable
from .stop_request import STOPPED, Stopped

Item = TypeVar("Item")
Value = TypeVar("Value")

# They mostly wait for the file system.
_THREADS = 16


class RankParser(command_line.Parser):
    """The parser of a program that runs as several ranks."""

    def print_help(self, file: Any = None) -> None:
        """Print the help once, not once per rank."""
        if ranks.rank() == 0:
            super().print_help(file)


def say(sentence: str) -> None:
    """Print a sentence once, not once per rank."""
    if ranks.rank() == 0:
        # Flushed, because the launcher reads a pipe and Python would hold the lines back.
        print(sentence, flush=True)


def on_rank_zero(action: Callable[[], Value]) -> Value:
    """Run `action` on rank zero alone and return its value on every rank, or raise its exception on every rank."""
    outcome: tuple[Value | None, Exception | None] = (None, None)
    if ranks.rank() == 0:
        try:
            outcome = (action(), None)
        except Exception as error:
            outcome = (None, error)
    value: Value
    value, failure = ranks.current().broadcast(outcome, "outcome")
    if failure is not None:
        raise failure
    return value


def on_every_rank(action: Callable[[], Value]) -> list[Value]:
    """Run `action` on every rank and return all values on every rank, or raise the first exception on every rank."""
    outcome: tuple[Value | None, Exception | None]
    try:
        outcome = (action(), None)
    except Exception as error:
        outcome = (None, error)
    outcomes = ranks.current().gather(outcome, "outcomes")
    for _, failure in outcomes:
        if failure is not None:
            raise failure
    return [value for value, _ in outcomes]


def share(work: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
    """Apply the work to every item, each rank to its part; return all results on every rank.

    Raises:
        UserError: On every rank, if one rank's work raises it.
    """
    own, failure = [], None
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            own = list(pool.map(work, items[ranks.rank() :: ranks.size()]))
    except UserError as error:
        failure = error
    outcomes = ranks.current().gather((own, failure), "shared")
    for _, other_failure in outcomes:
        if other_failure is not None:
            raise other_failure
    return [outcomes[place % ranks.size()][0][place // ranks.size()] for place in range(len(items))]


def barrier() -> None:
    """Return when every rank has arrived."""
    ranks.current().gather(None, "barrier")


def average(variables: Sequence[Variable]) -> None:
    """Set the variables of every rank to the mean over all ranks."""
    assign_flat(variables, ranks.current().average(flat(variables), "average"))


def flat(variables: Sequence[Variable]) -> NDArray[np.float32]:
    """Return one vector, because a hundred small arrays would be a hundred messages."""
    vector: NDArray[np.float32] = np.concatenate(
        [np.ravel(variable.numpy()) for variable in variables], dtype=np.float32
    )
    return vector


def assign_flat(variables: Sequence[Variable], values: NDArray[Any]) -> None:
    """Set the variables to the vector's values, in the order of `flat`."""
    start = 0
    for variable in variables:
        end = start + int(np.prod(variable.shape))
        variable.assign(values[start:end].reshape(variable.shape).astype(np.float32))
        start = end


def run(program: Callable[[], None]) -> int:
    """Run a program on every rank and return its exit code.

    Returns:
        `USER_ERROR` for a user's error, printed once; `STOPPED` for a run that has saved its state on request.
        Every rank must raise the `UserError`: all do where they check the same values, and where `on_rank_zero` and
        `on_every_rank` run the check. A `RankError` ends the process, and so do a `LostFileSystemError` and a
        `LostProcessError`, with 1.
    """
    try:
        program()
    except (RankError, LostFileSystemError, LostProcessError) as error:
        print(f"error: rank {ranks.rank()}: {error}", file=sys.stderr, flush=True)
        if isinstance(error, UserError):
            torchrun_environment.report_user_error(str(error))
        # Without cleaning up, which would wait for the other ranks, which wait for this one. Their launcher ends them.
        os._exit(USER_ERROR if isinstance(error, UserError) else 1)
    except UserError as error:
        if ranks.rank() == 0:
            print(f"error: {error}", file=sys.stderr, flush=True)
        torchrun_environment.report_user_error(str(error))
        # The launcher ends the other ranks as soon as one fails: rank zero must have printed the error before.
        barrier()
        return USER_ERROR
    except Stopped:
        return STOPPED
    return 0
