"""Ranks that act as one: rank 0 speaks and writes, and a mistake ends all ranks together."""

import os
import sys
from collections.abc import Callable
from typing import IO, TypeVar

import horovod.tensorflow as hvd

from training.runtime import command_line
from training.runtime.errors import RankError, UserError
from training.runtime.stop_request import EXIT_CODE, Stopped

Value = TypeVar("Value")


class RankParser(command_line.Parser):
    """The parser of a program that runs as several ranks."""

    def print_help(self, file: IO[str] | None = None) -> None:
        """Prints the help once, not once a rank."""
        if hvd.rank() == 0:
            super().print_help(file)


def say(sentence: str) -> None:
    """Prints a sentence once, not once a rank."""
    if hvd.rank() == 0:
        # Flushed, because mpirun reads a pipe and Python would hold the lines back.
        print(sentence, flush=True)


def on_first_rank(action: Callable[[], Value]) -> Value:
    """Runs `action` on rank 0 alone and gives its value to every rank, or raises its exception on every rank."""
    outcome: tuple[Value | None, Exception | None] = (None, None)
    if hvd.rank() == 0:
        try:
            outcome = (action(), None)
        except Exception as error:
            outcome = (None, error)
    value, failure = hvd.broadcast_object(outcome, root_rank=0, name="outcome")
    if failure is not None:
        raise failure
    return value


def on_every_rank(action: Callable[[], Value]) -> list[Value]:
    """Runs `action` on every rank and gives all values to every rank, or raises the first exception on every rank."""
    outcome: tuple[Value | None, Exception | None]
    try:
        outcome = (action(), None)
    except Exception as error:
        outcome = (None, error)
    outcomes = hvd.allgather_object(outcome, name="outcomes")
    for _, failure in outcomes:
        if failure is not None:
            raise failure
    return [value for value, _ in outcomes]


def barrier() -> None:
    """Returns when every rank has arrived."""
    hvd.allgather_object(None, name="barrier")


def run(program: Callable[[], None]) -> int:
    """Runs a program on every rank and returns its exit code.

    Returns:
        2 for a mistake of the user's, told once; `stop_request.EXIT_CODE` for a run that was asked to end and can
        go on. Every rank must raise the `UserError`: all do where they check the same values, `on_first_rank` and
        `on_every_rank` see to the rest. A `RankError` ends the process.
    """
    try:
        program()
    except RankError as error:
        print(f"error: rank {hvd.rank()}: {error}", file=sys.stderr, flush=True)
        # Not an orderly end: that would wait for the other ranks, which wait for this one. mpirun ends them.
        os._exit(2)
    except UserError as error:
        if hvd.rank() == 0:
            print(f"error: {error}", file=sys.stderr, flush=True)
        # mpirun ends the other ranks as soon as one fails: rank 0 must have spoken before.
        barrier()
        return 2
    except Stopped:
        return EXIT_CODE
    return 0
