"""What the commands that use a cluster share: their parameters, how they print, and how they end."""

import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.ended_nodes import EndedNode
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.job_summaries import JobSummary, PodSummary
from training_workloads.cluster.job_warnings import JobWarning
from training_workloads.cluster.polling import DeadlineError, Progress
from training_workloads.cluster.resources import MPI_JOBS
from training_workloads.cluster.status import JobReport
from training_workloads.exit_codes import CLUSTER_FAILED, INTERRUPTED, TIMED_OUT
from training_workloads.terminal import print_raw, printable, say

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "command_line",
    "job_sentence",
    "note",
    "note_waiting",
    "print_jobs",
    "print_json",
    "print_report",
    "print_table",
    "progress",
    "session",
    "short_time",
]


# Without a terminal Rich would cut lines at 80 columns; nothing is wider than this.
_NO_TERMINAL_COLUMNS = 10_000


@contextmanager
def session(
    context: str | None,
    namespace: str | None,
    *,
    remains: Callable[[], str] = str,
    still_runs: Callable[[], str] = str,
    late: Callable[[], str] = str,
) -> Iterator[Cluster]:
    """Connect to the cluster, and end the command with its exit code after a failure.

    Args:
        context: The value of `--context`.
        namespace: The value of `--namespace`.
        remains: Returns what the command has created, printed when it ends early. Default: nothing.
        still_runs: Returns what continues on the cluster, printed after Ctrl-C. Default: nothing.
        late: Returns what to print when a deadline has passed.
    """
    # Here, because YAML and the client take time to import.
    from training_workloads.cluster.kubeconfig import connect

    try:
        with connect(context, namespace) as cluster:
            yield cluster
    except ClusterError as error:
        _end(CLUSTER_FAILED, f"error: {error}", remains())
    except DeadlineError:
        _end(TIMED_OUT, f"error: {late()}")
    except KeyboardInterrupt:
        _end(INTERRUPTED, "interrupted", remains(), still_runs())


def command_line(verb: str, name: str, context: str | None, namespace: str | None) -> str:
    """Return a command of this program for the same cluster and namespace."""
    given = (("--context", context), ("-n", namespace))
    options = [word for option, value in given if value for word in (option, value)]
    return shlex.join(["trainctl", *verb.split(), name, *options])


def note(text: str) -> None:
    """Print a note on standard error: it is not the result."""
    say(f"note: {text}", error=True)


def note_waiting() -> Progress:
    """Return a function that notes what the command waits for, each once, until an empty text ends the waiting."""
    noted = set()
    over = False

    def show(text: str) -> None:
        nonlocal over
        over = over or not text
        if not over and text not in noted:
            noted.add(text)
            note(text)

    return show


@contextmanager
def progress(otherwise: Progress | None = None) -> Iterator[Progress]:
    """Show progress in a line of standard error if that is a terminal, and remove the line at the end.

    Args:
        otherwise: Takes the line if there is no terminal. Default: it is not printed.

    Yields:
        A function that takes the line; an empty one clears it.
    """
    console = _console(sys.stderr)
    if not console.is_terminal:
        yield otherwise or (lambda text: None)
        return
    status = console.status("")

    def show(text: str) -> None:
        if text:
            status.update(printable(text))
            status.start()
        else:
            status.stop()

    try:
        yield show
    finally:
        status.stop()


def print_json(value: Any) -> None:
    """Print one JSON document: dataclasses as objects, times in ISO 8601."""
    print_raw(json.dumps(_plain(value), indent=2))


def print_jobs(jobs: Iterable[JobSummary], *, with_namespace: bool) -> None:
    """Print a table of jobs."""
    now = datetime.now(UTC)
    columns = ["NAME", "STATE", "WORKERS", "AGE", "DURATION"]
    rows = [
        [
            *([job.namespace] if with_namespace else []),
            *(job.name, job.state, _workers(job)),
            *(short_time(job.age(now)), short_time(job.duration(now))),
        ]
        for job in jobs
    ]
    print_table(["NAMESPACE", *columns] if with_namespace else columns, rows)


def print_report(report: JobReport) -> None:
    """Print the report of a job."""
    now = datetime.now(UTC)
    job = report.job
    say(f"{job.kind} {job.name!r} in namespace {job.namespace!r}: {job_sentence(job)}")
    say(f"age {short_time(job.age(now))}, ran {short_time(job.duration(now))}, {job.world_size} ranks{_limits(job)}")
    measured = {"network": report.network, "speed": _speed(report, now), "cost": _cost(report, now)}
    say(*(f"{name}: {text}" for name, text in measured.items() if text))
    # Of a `batch/v1` Job every pod is in the place of the launcher.
    first = "launcher" if job.kind == MPI_JOBS.kind else "pod"
    pods = [(first, pod) for pod in report.launchers] + [("worker", pod) for pod in report.workers]
    if pods:
        say("")
        print_table(["POD", "ROLE", "STATE", "READY", "RESTARTS", "NODE"], [_pod_row(*each) for each in pods])
    reasons = [f"{pod.name}: {pod.why}" for _, pod in pods if pod.why]
    warnings = [_warning_line(each, now) for each in report.warnings]
    if lines := [*reasons, *warnings, *map(partial(_ended_line, now=now), report.ended_nodes)]:
        say("", *lines)
    if report.hints:
        say("", *(f"hint: {text}" for text in report.hints))


def _pod_row(role: str, pod: PodSummary) -> list[str]:
    return [pod.name, role, pod.state, "yes" if pod.ready else "no", str(pod.restarts), pod.node or "-"]


def _warning_line(warning: JobWarning, now: datetime) -> str:
    times = f" (x{warning.count})" if warning.count > 1 else ""
    return f"{short_time(now - warning.at)} ago, {warning.about}: {warning.reason}{times}: {warning.message}"


def _ended_line(node: EndedNode, now: datetime) -> str:
    return f"{short_time(now - node.at)} ago, node {node.instance} of {node.group} was ended by {node.who}"


def job_sentence(job: JobSummary) -> str:
    """Return a job's state with its reason."""
    # The workers of a job that has ended are deleted, or of no interest.
    ready = "" if job.is_finished else f", {job.workers_ready} of {job.workers} workers ready"
    why = job.message or job.reason
    return f"{job.state}{ready}{f' ({why})' if why else ''}"


def short_time(time: timedelta | None) -> str:
    """Return a time in its two largest units: `45s`, `12m30s`, `3h20m`, `2d4h`; `-` for none."""
    if time is None:
        return "-"
    seconds = max(0, int(time.total_seconds()))
    units = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    parts = []
    for unit, size in units:
        count, seconds = divmod(seconds, size)
        parts.append((count, unit))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count) or "0s"


def _workers(job: JobSummary) -> str:
    """Return how many workers are ready; of a job that has ended how many it had, as the operator deletes them."""
    return str(job.workers) if job.is_finished else f"{job.workers_ready}/{job.workers}"


def _speed(report: JobReport, now: datetime) -> str:
    """Return the measured and the predicted speed in a sentence; nothing of a job that has ended without one."""
    speed = report.speed
    if speed is None:
        return ""
    if speed.images_per_second is None or speed.at is None:
        predicted = f"{speed.predicted_images_per_second:,.0f} images/s predicted, none measured yet"
        return "" if report.job.is_finished else predicted
    digits = ",.0f" if speed.images_per_second >= 10 else ".2g"
    measured = f"{speed.images_per_second:{digits}} images/s {short_time(now - speed.at)} ago"
    if speed.share is None:
        return measured
    return f"{measured}, {speed.share:.0%} of the {speed.predicted_images_per_second:,.0f} predicted"


def _cost(report: JobReport, now: datetime) -> str:
    """Return the cost of a run with a cap in a sentence; empty without one."""
    cost = report.cost
    if cost is None:
        return ""
    when = f" {short_time(now - cost.at)} ago" if cost.at else ""
    return f"${cost.usd:,.2f} of ${cost.most:,.2f}{when}, at ${cost.usd_per_hour:,.2f} an hour"


def _limits(job: JobSummary) -> str:
    if not job.elastic:
        return ""
    most = f"to {job.max_workers}" if job.max_workers else "or more"
    return f", elastic with {job.min_workers} {most} workers"


def print_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print rows below their headings."""
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(printable, row))
    _console(sys.stdout).print(table)


def _console(stream: Any) -> "Console":
    from rich.console import Console

    width = None if stream.isatty() else _NO_TERMINAL_COLUMNS
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def _end(code: int, *sentences: str) -> None:
    for sentence in filter(None, sentences):
        say(sentence, error=True)
    raise click.exceptions.Exit(code)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value
