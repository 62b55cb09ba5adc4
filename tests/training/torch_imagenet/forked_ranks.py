"""Ranks of training.torch_imagenet as processes that are forked from the tests, so that they import PyTorch once."""

import multiprocessing
import os
import socket
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.training.mpirun import PATIENCE
from tests.training.torch_imagenet.tiny_torch import train

#: Options of every run on the digits, besides its folders: two epochs of 11 steps of 128 images on two ranks.
OPTIONS = ["--classes", "10", "--epochs", "2", "--warmup-epochs", "0", "--batch-size", "64"]
OPTIONS += ["--checkpoint-every", "3steps", "--data-workers", "1"]


@dataclass
class Ranks:
    """The processes of a run."""

    processes: Sequence[BaseProcess]
    log: Path
    output: Path
    codes: list[int | None] = field(default_factory=list)

    def wait_for(self, text: str) -> None:
        """Return when rank zero has printed a text."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.log.read_text():
            assert all(each.is_alive() for each in self.processes), self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def end(self) -> "Ranks":
        """Return when all have ended; `codes` has their exit codes, negative for a signal."""
        for process in self.processes:
            process.join(PATIENCE)
        self.codes = [each.exitcode for each in self.processes]
        return self

    def kill(self) -> None:
        """End the processes that are left."""
        for process in self.processes:
            process.kill()
            process.join(PATIENCE)


def start(count: int, output: Path, arguments: Sequence[str]) -> Ranks:
    """Start ranks that train into a folder."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    log = output.with_name(f"{output.name}-{count}-{time.monotonic_ns()}.log")
    log.touch()
    context = multiprocessing.get_context("fork")
    given = ["training.torch_imagenet", *arguments, "--output-dir", str(output)]
    processes = []
    for rank in range(count):
        numbers = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": count,
            "LOCAL_WORLD_SIZE": count,
            "MASTER_PORT": port,
        }
        environment = {name: str(number) for name, number in numbers.items()} | {"MASTER_ADDR": "127.0.0.1"}
        processes.append(context.Process(target=_rank, args=(given, environment, str(log))))
        processes[-1].start()
    return Ranks(processes, log, output)


def _rank(arguments: list[str], environment: dict[str, str], log: str) -> None:
    # One file: mpirun and torchrun join the output of the ranks, too.
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout, sys.stderr = (os.fdopen(each, "w", buffering=1) for each in (1, 2))
    sys.argv = arguments
    # Those of the tests: a warning is an error.
    warnings.resetwarnings()
    os.environ.update(environment)
    os._exit(train())
