"""Jobs of a sweep as ranks of this machine."""

import json
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training_workloads.bench.cells import Cell
from training_workloads.bench.sweep import Sweep
from training_workloads.bench.sweep_run import Outcome
from training_workloads.jobs.volumes import RUNS_DIRECTORY
from training_workloads.mpijob.programs import explained
from training_workloads.rendering import render_jobs
from training_workloads.run_local.runner import run_locally

__all__ = ["LocalRunner", "cores_per_rank", "machine_name"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRunner:
    """Runs the ranks of a job on this machine, by the command of its manifest.

    Attributes:
        owner: Which jobs belong to the results folder.
        volumes: Local folder in place of the shared file system.
        environment: Virtual environment of the jobs.
        cores: Cores of each rank. As many in every cell: one rank with the cores of two would be as fast as two.
    """

    owner: str
    volumes: Path
    environment: Path
    cores: int

    def clean(self, keep: Sequence[str]) -> Sequence[str]:
        """Remove the output of killed runs; their ranks ended with them, so no job exists."""
        for path in [*self._runs.glob(f"bench-{self.owner}-*"), *self._runs.glob(f".bench-{self.owner}-*")]:
            _remove(path)
        return ()

    def run(self, cell: Cell, job: str, folder: Path, seconds: float | None) -> Outcome:
        """Run a job to its end; a signal that ends it ends the sweep."""
        (manifest,), _ = render_jobs([cell.make(job)], folder)
        began = time.monotonic()
        try:
            with _bound_to(cell.ranks * self.cores):
                code = run_locally(manifest, volumes=self.volumes, environment=self.environment, ranks=cell.ranks)
            _end_after_a_signal(code)
            results = self._runs / job / "results.json"
            content = _content(results) if code == 0 else None
            reason = explained(code) if code else "" if content else f"succeeded without {results.name}"
            return Outcome(results=content, seconds=time.monotonic() - began, reason=reason)
        finally:
            self.clean(())

    @property
    def _runs(self) -> Path:
        return self.volumes / RUNS_DIRECTORY


def cores_per_rank(sweep: Sweep) -> int:
    """Return the cores of each rank in a local sweep: an equal part for those of its largest cell."""
    ranks = [each for each in sweep.axes.get("ranks", ()) if isinstance(each, int) and each > 0]
    return max(1, len(os.sched_getaffinity(0)) // max(ranks, default=1))


@contextmanager
def _bound_to(count: int) -> Iterator[None]:
    """Bind this thread and its children to the first of its cores."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def machine_name(cores: int) -> str:
    """Return the facts that decide a speed: this machine's processor, core count and memory, and a rank's cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = models[0] if models else platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {cores} for each rank, {gib:.0f} GiB"


def _end_after_a_signal(code: int) -> None:
    """End the sweep as the run was ended, by a signal to this program or by its closed output."""
    if code == 128 + signal.SIGINT:
        raise KeyboardInterrupt
    if code in (128 + signal.SIGTERM, 128 + signal.SIGHUP, 128 + signal.SIGPIPE):
        sys.exit(code)


def _content(path: Path) -> dict[str, Any] | None:
    return dict(json.loads(path.read_text())) if path.exists() else None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
