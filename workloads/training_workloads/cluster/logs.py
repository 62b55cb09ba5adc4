"""Read the log of a job's launcher to its end, across broken connections and restarted launchers.

A job of torchrun has no launcher: rank zero, which prints for all, is in the pod of worker 0. With c10d torchrun sorts
the nodes by their names, so that it is in another one only while worker 0 is lost (`_mark_rendezvous_complete` in
torch/distributed/elastic/rendezvous/dynamic_rendezvous.py of 2.15); with etcd the first node that comes has it.
"""

from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError, NotFoundError, TransientError
from training_workloads.cluster.hints import rejected_input
from training_workloads.cluster.job_summaries import SUSPENDED, has_ended, has_started, summarize_pod
from training_workloads.cluster.jobs import (
    INDEX_LABEL,
    ClusterJob,
    by_age,
    find_job,
    launcher_pods,
    try_find_job,
    worker_pods,
)
from training_workloads.cluster.polling import Poller, Progress
from training_workloads.mpijob.api import JOB_ROLE_LABEL
from training_workloads.mpijob.programs import NETWORK_LINE
from training_workloads.validation import InputError, Problem, Problems, enforce

__all__ = ["follow_log", "launcher_lines", "read_log", "read_network"]

# NCCL's own lines of a large job are before the launcher's line about the network.
_NETWORK_BYTES = 2**20


@dataclass(kw_only=True, slots=True)
class _Reader:
    """Reads a pod's log from where it stopped: it knows a line by its time, and its position in that time."""

    cluster: Cluster
    place: tuple[str, str]
    pod: str
    container: str
    tail: int | None = None
    last: str = ""
    at_last: int = 0

    def lines(self, *, follow: bool) -> Iterator[str]:
        """Yield the lines that were not read yet."""
        known_time, known_lines, seen = self.last, self.at_last, 0
        for line in self.cluster.log(self.pod, self.container, follow=follow, query=self._query()):
            time, _, text = line.partition(" ")
            # Times have one length and one zone. After the first new line none is skipped: clocks may step back.
            if known_time and time <= known_time:
                seen += time == known_time
                if time < known_time or seen <= known_lines:
                    continue
            known_time = ""
            self.at_last = self.at_last + 1 if time == self.last else 1
            self.last = time
            yield text

    def _query(self) -> dict[str, str]:
        if self.last:
            return {"sinceTime": self.last}
        return {} if self.tail is None else {"tailLines": str(self.tail)}


def read_log(cluster: Cluster, name: str, *, worker: int | None, tail: int | None) -> Iterator[str]:
    """Return the existing lines of the newest launcher, or of a worker; of torchrun those of worker 0 by default.

    Raises:
        InputError: There is no such job or worker, or it has not started.
    """
    job = find_job(cluster, name)
    started = [pod for pod in _pods(job, worker) if has_started(pod)]
    if started:
        return _reader(cluster, started[-1], tail).lines(follow=False)
    raise InputError(_no_log(job, worker))


def read_network(cluster: Cluster, job: ClusterJob) -> str | None:
    """Return the last line on the ranks' network in the beginning of the newest launcher's log, without its prefix.

    It is `None` without such a line, and without a log to read.
    """
    found = None
    for _, text in launcher_lines(cluster, job, {"limitBytes": str(_NETWORK_BYTES)}):
        if text.startswith(NETWORK_LINE):
            found = text.removeprefix(NETWORK_LINE)
    return found


def launcher_lines(cluster: Cluster, job: ClusterJob, query: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield time and text of each line in the newest launcher's log; none without one, and without a log to read."""
    started = [pod for pod in _pods(job, None) if has_started(pod)]
    if not started or not (job.is_mpi_job or job.has_torchrun):
        return
    pod, container = started[-1]["metadata"]["name"], started[-1]["spec"]["containers"][0]["name"]
    # The state of the job is known without its log, which a lost node or a missing permission keeps.
    with suppress(ClusterError):
        for line in cluster.log(pod, container, follow=False, query=query):
            time, _, text = line.partition(" ")
            yield time, text


def follow_log(
    cluster: Cluster, name: str, poller: Poller, progress: Progress, *, worker: int | None, tail: int | None
) -> Iterator[str]:
    """Yield lines as they are written, until the end of the job, or of the worker's pod.

    By default they are those of the launcher, and of the next one after a restart; of torchrun those of worker 0.

    Raises:
        InputError: There is no such job or worker.
        ClusterError: The cluster has been unreachable for too long.
    """
    job: ClusterJob | None = find_job(cluster, name)
    reader: _Reader | None = None
    advise = cache(poller.note)
    while job is not None:
        pods = _pods(job, worker)
        ended = job.summary.is_finished or job.will_fail or (worker is not None and any(map(has_ended, pods)))
        for pod in _to_read(pods, reader):
            if reader is None:
                reader = _reader(cluster, pod, tail)
            elif reader.pod != pod["metadata"]["name"]:
                poller.note(_restarted(pod, reader, pods))
                reader = _reader(cluster, pod, None)
            if not (yield from _available(reader, poller)):
                break
        else:
            if ended:
                return
        if advice := rejected_input(job.summary, job.launchers):
            advise(advice)
        progress(f"waiting {_waits_for(job, worker)}")
        poller.pause()
        job = poller.ask(lambda: try_find_job(cluster, name))


def _to_read(pods: list[dict[str, Any]], reader: _Reader | None) -> list[dict[str, Any]]:
    """Return the pods to read now, in order: the last one again, for its new lines, and those after it."""
    started = [pod for pod in pods if has_started(pod)]
    if reader is None:
        return started[-1:]
    return [pod for pod in started if by_age(pod) >= reader.place]


def _restarted(pod: dict[str, Any], reader: _Reader, pods: list[dict[str, Any]]) -> str:
    """Return that the launcher or the worker was restarted, and why the pod before did not succeed."""
    before = next((summarize_pod(each).why for each in pods if each["metadata"]["name"] == reader.pod), "")
    role = _labels(pod).get(JOB_ROLE_LABEL, "pod")
    return f"the {role} was restarted as {pod['metadata']['name']}{f' after {before}' if before else ''}"


def _available(reader: _Reader, poller: Poller) -> Generator[str, None, bool]:
    """Yield the lines until the stream ends; return whether it ended regularly rather than broke."""
    try:
        yield from reader.lines(follow=True)
    except NotFoundError:
        poller.note(f"pod {reader.pod} was deleted, and the rest of its log with it")
    except TransientError as error:
        poller.note(f"{error.event}; the log continues where it broke")
        return False
    return True


def _reader(cluster: Cluster, pod: dict[str, Any], tail: int | None) -> _Reader:
    container = pod["spec"]["containers"][0]["name"]
    return _Reader(cluster=cluster, place=by_age(pod), pod=pod["metadata"]["name"], container=container, tail=tail)


def _pods(job: ClusterJob, worker: int | None) -> list[dict[str, Any]]:
    """Return the pods whose logs the user wants, oldest first."""
    if worker is None and not job.has_torchrun:
        return launcher_pods(job)
    if worker is not None:
        enforce((job, worker), [_worker_exists])
    if not job.is_mpi_job:
        return [pod for pod in job.pods if _labels(pod).get(INDEX_LABEL) == str(worker or 0)]
    name = f"{job.summary.name}-worker-{worker}"
    return [pod for pod in worker_pods(job) if pod["metadata"]["name"] == name]


def _labels(pod: dict[str, Any]) -> dict[str, str]:
    return pod["metadata"].get("labels") or {}


def _worker_exists(wanted: tuple[ClusterJob, int]) -> Problems:
    (of, worker), job = wanted, wanted[0].summary
    has_workers = of.is_mpi_job or of.has_torchrun or job.elastic
    if has_workers and 0 <= worker < job.workers:
        return
    if not has_workers or not job.workers:
        allowed, fix = f"{job.kind} {job.name!r} has no workers", "omit the option for the log of the other pods"
    else:
        numbers = "only worker 0" if job.workers == 1 else f"the workers 0 to {job.workers - 1}"
        allowed, fix = f"{job.name!r} has {numbers}", "give a number that exists"
    yield Problem(path=("worker",), given=worker, allowed=allowed, fix=fix)


def _no_log(job: ClusterJob, worker: int | None) -> Problem:
    subject = f"worker {worker}" if worker is not None else "its launcher" if job.is_mpi_job else "its pod"
    if job.summary.is_finished:
        allowed = f"{subject} is deleted, and the log with it"
        fix = f"run 'status {job.summary.name}' for what is known"
    else:
        allowed = f"{subject} has not started, waiting {_waits_for(job, worker)}"
        fix = "add '-f' to wait for it"
    return Problem(path=("name",), given=job.summary.name, allowed=allowed, fix=fix)


def _waits_for(job: ClusterJob, worker: int | None) -> str:
    """Return the condition for more lines, as a clause after "waiting"."""
    summary, pods = job.summary, _pods(job, worker)
    if summary.state == SUSPENDED:
        return "for the job, which is suspended"
    if unstarted := [summarize_pod(pod) for pod in pods if not has_started(pod)]:
        newest = unstarted[-1]
        return f"for pod {newest.name}, {newest.state}{': ' * bool(newest.why)}{newest.why}"
    if pods:
        return f"for the end of the job or a new attempt; it is {summary.state}"
    if job.is_mpi_job and summary.workers_ready < summary.workers:
        return f"for {summary.workers} workers, {summary.workers_ready} ready"
    return f"for a pod; the job is {summary.state}"
