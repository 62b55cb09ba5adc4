"""The results of a sweep on the disk: a folder for each cell and repetition, whose record is written last.

results/id                        which jobs of a cluster belong to this folder
results/<cell>/cell.json          the values and the job of the cell
results/<cell>/<n>/attempt.json   the job that was started
results/<cell>/<n>/record.json    how it ended; without it the repetition is not finished
results/<cell>/<n>/log.txt        the launcher's log, from a cluster
"""

import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from training_workloads.bench.cells import Cell
from training_workloads.catalog.published_runs import PUBLISHED_RUNS
from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.planning.job_prediction import planned_setup
from training_workloads.planning.prediction import predict
from training_workloads.planning.training_setup import TrainingSetup
from training_workloads.validation import InputError, Problem

__all__ = ["FINISHED", "Repetition", "ResultsFolder", "expected_figures", "write_atomically"]

#: The state of a repetition whose job succeeded and has results; any other one is run again.
FINISHED: Final = "finished"

_ID_LETTERS = 6

# Keys of `cell.json` that a report needs.
_OF_A_CELL = ("values", "ranks", "nodes", "instance_type")


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader, or a machine that stops, finds the old content or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    # Others may write into the folder: a link with that name would have this user overwrite another file.
    partial.unlink(missing_ok=True)
    with partial.open("x") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


def _read(path: Path, *needed: str) -> dict[str, Any]:
    """Return the content of a file that has some keys; empty without the file."""
    if not path.exists():
        return {}
    try:
        found = dict(json.loads(path.read_text()))
        if not found.keys() >= set(needed):
            raise KeyError(*needed)
    except (KeyError, OSError, TypeError, ValueError) as error:
        fix = "restore the file, or delete it to measure again"
        raise InputError(Problem(path=("results",), given=str(path), allowed="it is damaged", fix=fix)) from error
    return found


def _write(path: Path, content: dict[str, Any]) -> None:
    write_atomically(path, json.dumps(content, indent=2) + "\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repetition:
    """One repetition of a cell.

    Attributes:
        folder: Its folder.
    """

    folder: Path

    @property
    def attempt(self) -> dict[str, Any]:
        """The last attempt; empty without one.

        `number`, `job`, when it `began`, and `usd`, the dollars that the attempts before may have cost.
        """
        return _read(self.folder / "attempt.json", "number", "job")

    @property
    def record(self) -> dict[str, Any]:
        """How the last attempt ended; empty while that is not known."""
        return _read(self.folder / "record.json", "state")

    @property
    def is_finished(self) -> bool:
        """Whether it has results."""
        return self.record.get("state") == FINISHED

    def begin(self, owner: str, planned_usd: float) -> str:
        """Note an attempt before its job is created, so that the next start finds the job; return the job's name.

        Each attempt has a new name, and so a new output folder: none resumes from another one's files.
        """
        number = self.attempt.get("number", 0) + 1
        job = f"bench-{owner}-{self.folder.parent.name}-{self.folder.name}-{number}"
        before = {"usd_before": self.usd, "planned_usd": planned_usd}
        attempt = {"number": number, "job": job, "began": time.time(), **before}
        (self.folder / "record.json").unlink(missing_ok=True)
        _write(self.folder / "attempt.json", attempt)
        return job

    def end(self, record: dict[str, Any]) -> None:
        """Write how the attempt ended."""
        _write(self.folder / "record.json", record)

    @property
    def usd(self) -> float:
        """Dollars of all attempts; of one whose end is not known as many as were planned."""
        attempt, record = self.attempt, self.record
        return float(attempt.get("usd_before", 0.0) + record.get("usd", attempt.get("planned_usd", 0.0)))


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultsFolder:
    """The folder of a sweep's results.

    Attributes:
        path: Where it is.
    """

    path: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one sweep at a time; the kernel releases it with this process, however it ends.

        Raises:
            InputError: Another process has it, or it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            allowed, fix = f"it cannot be written ({error.strerror})", "give a folder that you may write to"
            raise InputError(Problem(path=("results",), given=str(self.path), allowed=allowed, fix=fix)) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            fix = "wait for its end, or give another folder"
            allowed = "another sweep writes into it"
            raise InputError(Problem(path=("results",), given=str(self.path), allowed=allowed, fix=fix)) from error
        else:
            yield
        finally:
            os.close(file)

    @property
    def id(self) -> str:
        """A text that no other folder has: the label of its jobs."""
        path = self.path / "id"
        if not path.exists():
            write_atomically(path, uuid.uuid4().hex[:_ID_LETTERS])
        return path.read_text()

    def repetitions(self, cell: Cell, repeats: int) -> list[Repetition]:
        """Return the repetitions of a cell, and write its description."""
        folder = self.path / cell.name
        folder.mkdir(exist_ok=True)
        described = {
            "swept": time.time(),
            "values": dict(cell.values),
            "ranks": cell.ranks,
            "nodes": cell.nodes,
            "instance_type": "" if cell.machine else cell.spec.instance_type,
            "identity": cell.identity,
            **expected_figures(cell),
        }
        _write(folder / "cell.json", described)
        found = [Repetition(folder=folder / str(number)) for number in range(1, repeats + 1)]
        for each in found:
            each.folder.mkdir(exist_ok=True)
        return found

    @property
    def usd(self) -> float:
        """Dollars of every attempt in the folder, of this sweep and of those before it."""
        return sum(Repetition(folder=path.parent).usd for path in _numbered(self.path.glob("*/*/attempt.json")))

    def measured(self) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Return each cell with its records.

        Raises:
            InputError: There is none.
        """
        found = [
            (
                {"cell": path.parent.name, **_read(path, *_OF_A_CELL)},
                [Repetition(folder=each.parent).record for each in _numbered(path.parent.glob("*/record.json"))],
            )
            for path in sorted(self.path.glob("*/cell.json"))
        ]
        if not found:
            allowed, fix = "it has no cell of a sweep", "give the folder of '--results'"
            raise InputError(Problem(path=("results",), given=str(self.path), allowed=allowed, fix=fix))
        return found


def _numbered(files: Iterable[Path]) -> list[Path]:
    """Return the files of repetitions in their order, without those of a copy such as `1.bak`."""
    return sorted((each for each in files if each.parent.name.isdecimal()), key=lambda each: int(each.parent.name))


def expected_figures(cell: Cell) -> dict[str, Any]:
    """Return `predicted`, in images/s as `render` annotates it, and `published`, by the name of the run."""
    setup = None if cell.machine else planned_setup(cell.spec)
    if setup is not None:
        return {"predicted": predict(setup).images_per_second, "published": _speeds(setup, cell)}
    published = _bandwidth(cell.spec) if isinstance(cell.spec, NcclTestJobSpec) else {}
    return {"predicted": None, "published": published}


def _speeds(setup: TrainingSetup, cell: Cell) -> dict[str, float]:
    gpu = cell.spec.instance.gpu
    alike = (setup.model, setup.precision, gpu.model if gpu else "", cell.ranks)
    return {
        f"{each.name}{f' ({each.note})' if each.note else ''}": each.images_per_second
        for each in PUBLISHED_RUNS
        if (each.model, each.precision, each.gpu, each.gpus) == alike
    }


def _bandwidth(test: NcclTestJobSpec) -> dict[str, float]:
    figure = test.published
    if not figure or test.nodes != figure.nodes:
        return {}
    return {f"{figure.nodes} x {test.instance_type}, {figure.message_gib} GiB": figure.gigabytes_per_second}
