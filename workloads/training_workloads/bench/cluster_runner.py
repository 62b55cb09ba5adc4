"""Jobs of a sweep on a cluster: submitted, waited for, read, and deleted."""

import dataclasses
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from training_workloads.bench.cells import Cell
from training_workloads.bench.results_folder import write_atomically
from training_workloads.bench.sweep_run import Outcome
from training_workloads.cluster.client import Cluster
from training_workloads.cluster.job_summaries import FAILED, SUCCEEDED
from training_workloads.cluster.jobs import (
    PODS_END_SECONDS,
    ClusterJob,
    delete_job,
    delete_part,
    find_job,
    parts_of,
    try_find_job,
    wait_for_end,
    wait_until_gone,
)
from training_workloads.cluster.logs import read_log
from training_workloads.cluster.polling import DeadlineError, Poller, Progress
from training_workloads.cluster.resources import BATCH_JOBS, MPI_JOBS
from training_workloads.cluster.submit import Submission, check_objects, plan_submission, submit
from training_workloads.manifests.documents import Document, read_documents
from training_workloads.mpijob.programs import NETWORK_LINE, RESULTS_LINE
from training_workloads.rendering import render_jobs
from training_workloads.run_local.rank_lines import rank_line
from training_workloads.validation import InputError, check

__all__ = ["SWEEP_LABEL", "ClusterRunner"]

#: Label of a job of a sweep: the results folder that it belongs to.
SWEEP_LABEL: Final = "trainctl/sweep"

_RESULTS = re.compile(rf"(?:^|\| ){re.escape(RESULTS_LINE)}(\{{.*\}})\s*$")


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRunner:
    """Runs jobs on a cluster, one at a time.

    Attributes:
        cluster: The cluster, in the jobs' namespace.
        owner: The label of the jobs of this results folder.
        note: Takes a sentence for the user.
        progress: Takes a line on what the runner waits for.
    """

    cluster: Cluster
    owner: str
    note: Callable[[str], None]
    progress: Progress

    def clean(self, keep: Sequence[str]) -> Sequence[str]:
        """Delete the jobs of this results folder, but for some; return those of them that exist."""
        label = f"{SWEEP_LABEL}={self.owner}"
        poller = Poller(note=self.note)
        found = [
            str(each["metadata"]["name"])
            for resource in (MPI_JOBS, BATCH_JOBS)
            for each in poller.ask(partial(self.cluster.objects, resource, labels=label))
            if not each["metadata"].get("ownerReferences")
        ]
        for name in (each for each in found if each not in keep):
            self.note(f"deleting job {name!r}, which an earlier start left")
            self._remove(name, ())
        return [name for name in found if name in keep]

    def run(self, cell: Cell, job: str, folder: Path, seconds: float | None) -> Outcome:
        """Run a job, or wait for the existing one, and delete it in any case."""
        began = time.monotonic()
        created: list[Submission] = []
        try:
            if found := try_find_job(self.cluster, job):
                # Its nodes cost since it was created, by an earlier start.
                began -= found.summary.age(datetime.now(UTC)).total_seconds()
            else:
                self._submit(cell, job, folder, created)
            return self._ended(find_job(self.cluster, job), folder, began, seconds)
        except DeadlineError:
            ran = time.monotonic() - began
            reason = f"cancelled after {ran:,.0f} s: the rest of the budget, or three times planned_hours"
            return Outcome(results=None, seconds=ran, reason=reason)
        finally:
            self._remove(job, created)

    def _submit(self, cell: Cell, job: str, folder: Path, created: list[Submission]) -> None:
        (manifest,), _ = render_jobs([cell.make(job)], folder)
        documents = read_documents(manifest.read_bytes(), str(manifest))
        check(check_objects(str(manifest), documents))
        labelled = [self._labelled(each, job) for each in documents]
        submit(plan_submission(self.cluster, labelled, self.note, namespace=self.cluster.namespace), created.append)

    def _labelled(self, document: Document, job: str) -> Document:
        metadata = document.content["metadata"]
        if document.content["kind"] not in (MPI_JOBS.kind, BATCH_JOBS.kind) or metadata["name"] != job:
            return document
        labels = {**metadata.get("labels", {}), SWEEP_LABEL: self.owner}
        return dataclasses.replace(document, content={**document.content, "metadata": {**metadata, "labels": labels}})

    def _ended(self, first: ClusterJob, folder: Path, began: float, seconds: float | None) -> Outcome:
        poller = Poller(note=self.note, deadline=None if seconds is None else began + seconds)
        job = wait_for_end(
            self.cluster, first, poller, lambda now: self.progress(f"{now.summary.name}: {now.summary.state}")
        )
        self.progress("")
        if job is None:
            return Outcome(results=None, seconds=time.monotonic() - began, reason="deleted before its end")
        lines = Poller(note=self.note).ask(lambda: self._log(job))
        write_atomically(folder / "log.txt", "".join(f"{line}\n" for line in lines))
        ran = job.summary.duration(datetime.now(UTC))
        results, reason = _results(lines), ""
        if job.will_fail:
            results, reason = None, f"{FAILED} ({job.launchers[-1].why})"
        elif job.summary.state != SUCCEEDED:
            results, reason = None, f"{job.summary.state} ({job.summary.message or 'no reason is known'})"
        elif results is None:
            reason = f"succeeded without a line '{RESULTS_LINE}…' in its log"
        network = next((line.removeprefix(NETWORK_LINE) for line in lines if line.startswith(NETWORK_LINE)), "")
        return Outcome(results=results, seconds=ran.total_seconds() if ran else 0.0, reason=reason, network=network)

    def _log(self, job: ClusterJob) -> list[str]:
        try:
            return [rank_line(each) for each in read_log(self.cluster, job.summary.name, worker=None, tail=None)]
        except InputError:
            # Its launcher has never started, or is gone; what the job says remains.
            return []

    def _remove(self, name: str, created: Sequence[Submission]) -> None:
        """Delete a job with its other objects, and wait for the end of its pods: they hold the nodes."""
        poller = Poller(note=self.note)
        job = poller.ask(lambda: try_find_job(self.cluster, name))
        if job is None:
            for each in created:
                poller.ask(partial(each.cluster.delete, each.resource, each.name))
            return
        parts = parts_of(job)
        poller.ask(lambda: delete_job(self.cluster, job))
        for resource, part in parts:
            poller.ask(partial(delete_part, self.cluster, job, resource, part))
        ending = Poller(note=self.note, deadline=time.monotonic() + PODS_END_SECONDS)
        try:
            for _ in wait_until_gone(self.cluster, [job], ending, self.progress):
                self.progress("")
        except DeadlineError:
            self.note(f"pods of {name!r} may still be ending")


def _results(lines: Sequence[str]) -> dict[str, Any] | None:
    """Return the content of the last line of results."""
    for line in reversed(lines):
        if found := _RESULTS.search(line):
            try:
                return dict(json.loads(found[1]))
            except ValueError:
                return None
    return None
