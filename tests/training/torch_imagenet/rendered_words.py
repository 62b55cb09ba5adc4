"""The words with which a TorchElasticJob starts its agents and its store."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.training.mpirun import ROOT

STORE = "job-store"
UID = "$(TRAINING_JOB_UID)"
PORT = 29400


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The containers of a rendered job."""

    agent: Sequence[str]
    """Command of a worker, whose variable Kubernetes expands."""
    environment: dict[str, str]
    """Variables of a worker, as far as the manifest has the values, and without those of GPUs' networks."""
    store: Sequence[str]

    def expanded(self, uid: str) -> list[str]:
        """Return a worker's words as its container gets them, by the Python of these tests."""
        start, words = self._divided()
        assert start[0] == "python"
        return [sys.executable, *start[1:], *_torchrun(word.replace(UID, uid) for word in words)]

    def agent_at(self, address: str) -> list[str]:
        """Return the words of torchrun alone, with the address of another store."""
        _, words = self._divided()
        return _torchrun(word.replace(UID, "uid-1").replace(f"{STORE}:{PORT}", address) for word in words)

    def _divided(self) -> tuple[list[str], list[str]]:
        """Return the program around torchrun, and torchrun with its words."""
        behind = list(self.agent).index("--") + 1
        return list(self.agent[:behind]), list(self.agent[behind:])

    def store_at(self, port: int) -> list[str]:
        """Return the words of torch's store with another port."""
        assert self.store[0] == "python"
        return [sys.executable, *(word.replace(str(PORT), str(port)) for word in self.store[1:])]


def _torchrun(words: Iterable[str]) -> list[str]:
    name, *others = words
    assert name == "torchrun"
    return [sys.executable, "-m", "torch.distributed.run", *others]


def rendered(backend: str, *, workers: int, min_workers: int, gpus: int, command: Sequence[str]) -> Words:
    """Return the words of a job whose name is `job`.

    Args:
        backend: Its `rendezvous`.
        workers: Its agents.
        min_workers: The fewest.
        gpus: Number of GPUs, and thus of ranks, of each worker.
        command: Command of each rank.
    """
    given = {"rendezvous": backend, "workers": workers, "min_workers": min_workers, "gpus_per_worker": gpus}
    libraries = os.pathsep.join(str(ROOT / folder) for folder in ("constructs", "workloads"))
    made = subprocess.run(
        [str(ROOT / ".venv/bin/python"), "-m", "tests.workloads.jobs.torch_job_words", json.dumps(given), *command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": libraries},
        check=True,
        capture_output=True,
        text=True,
    )
    return Words(**json.loads(made.stdout))
