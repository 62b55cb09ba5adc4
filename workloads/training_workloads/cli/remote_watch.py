"""The commands that look at what runs on a cluster: `list`, `status`, `logs` and `wait`."""

import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from training_workloads.cli.program import ON_A_CLUSTER, app
from training_workloads.cli.remote_output import (
    ContextOption,
    JsonOption,
    NameArgument,
    NamespaceOption,
    command_line,
    note,
    note_waiting,
    print_json,
    print_table,
    progress,
    session,
    short_time,
)
from training_workloads.cluster.changes import wait_for_end
from training_workloads.cluster.cluster import Cluster
from training_workloads.cluster.exit_codes import JOB_FAILED
from training_workloads.cluster.job_state import SUCCEEDED, JobView
from training_workloads.cluster.jobs import find_job, list_jobs, try_find_job
from training_workloads.cluster.log_following import follow_log, read_log
from training_workloads.cluster.polling import DeadlineError, Poller, Progress
from training_workloads.cluster.report import JobReport, report_job
from training_workloads.run_local.rank_lines import rank_line
from training_workloads.validation import InputError

__all__ = ["list_all", "logs", "status", "wait"]

_TIME = re.compile(r"(\d+)([smhd]?)")
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@app.command(name="list", rich_help_panel=ON_A_CLUSTER)
def list_all(
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="Not only one namespace.")] = False,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the jobs, the newest last."""
    with session(context, namespace) as cluster:
        jobs = list_jobs(cluster, all_namespaces=all_namespaces)
        where = "the cluster" if all_namespaces else f"namespace {cluster.namespace!r}"
    if as_json:
        print_json(jobs)
    elif jobs:
        columns = ["NAME", "STATE", "WORKERS", "AGE", "DURATION"]
        rows = map(_row, jobs)
        if all_namespaces:
            print_table(["NAMESPACE", *columns], [[job.namespace, *row] for job, row in zip(jobs, rows, strict=True)])
        else:
            print_table(columns, rows)
    else:
        print(f"no jobs in {where}")


@app.command(rich_help_panel=ON_A_CLUSTER)
def status(
    name: NameArgument, context: ContextOption = None, namespace: NamespaceOption = None, as_json: JsonOption = False
) -> None:
    """Say how a job is, why, and what its pods do."""
    with session(context, namespace) as cluster:
        report = report_job(cluster, name)
    if as_json:
        print_json(report)
    else:
        _print_report(report)


@app.command(rich_help_panel=ON_A_CLUSTER)
def logs(
    name: NameArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on to the end of the job.")] = False,
    worker: Annotated[int | None, typer.Option(help="Number of a worker. Default: the launcher.")] = None,
    tail: Annotated[int | None, typer.Option(help="Begin this many lines before the end.", min=0)] = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Print what the launcher writes; with -f, exit as the job does: 0 succeeded, 1 failed."""
    goes_on = _goes_on(name, context, namespace)
    with session(context, namespace, still_runs=goes_on) as cluster, progress(note_waiting()) as show:
        if not follow:
            for line in read_log(cluster, name, worker=worker, tail=tail):
                print(rank_line(line))
            return
        poller = Poller(note=note)
        for line in follow_log(cluster, name, poller, show, worker=worker, tail=tail):
            show("")
            print(rank_line(line), flush=True)
        show("")
        job = poller.ask(lambda: try_find_job(cluster, name))
        view = job.view if job else None
        # A worker's pod may end before its job does.
        if worker is None or view is None or view.is_finished:
            _exit_as(view, name)


@app.command(rich_help_panel=ON_A_CLUSTER)
def wait(
    name: NameArgument,
    timeout: Annotated[str | None, typer.Option(help="When to give up: 600, 10m, 2h. Default: never.")] = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Wait for the end of a job, and exit as it does: 0 succeeded, 1 failed or deleted, 4 not ended in time."""
    seconds = None if timeout is None else _seconds(timeout)
    deadline = None if seconds is None else time.monotonic() + seconds
    goes_on = _goes_on(name, context, namespace)

    def late() -> str:
        return f"{name!r} has not ended within {short_time(timedelta(seconds=seconds or 0))}; {goes_on()}"

    with session(context, namespace, still_runs=goes_on, late=late) as cluster, progress() as show:
        poller = Poller(note=note, deadline=deadline)
        _exit_as(_end_of(cluster, name, poller, show, as_json=as_json), name)


def _end_of(cluster: Cluster, name: str, poller: Poller, show: Progress, *, as_json: bool) -> JobView | None:
    """Waits for the end of a job; as JSON prints how the job is then, also when the time is over before."""
    first = find_job(cluster, name)
    job: JobView | None = first.view

    def tell(view: JobView) -> None:
        nonlocal job
        job = view
        show(_sentence(view))

    try:
        job = wait_for_end(cluster, first, poller, tell)
    except DeadlineError:
        if as_json:
            print_json(job)
        raise
    if as_json:
        print_json(job)
    return job


def _row(job: JobView) -> list[str]:
    now = datetime.now(UTC)
    ready = f"{job.workers_ready}/{job.workers}"
    return [job.name, job.state, ready, short_time(job.age(now)), short_time(job.duration(now))]


def _print_report(report: JobReport) -> None:
    now = datetime.now(UTC)
    job = report.job
    print(f"{job.kind} {job.name!r} in namespace {job.namespace!r}: {_sentence(job)}")
    print(f"age {short_time(job.age(now))}, ran {short_time(job.duration(now))}, {job.world_size} ranks{_limits(job)}")
    pods = [("launcher", pod) for pod in report.launchers] + [("worker", pod) for pod in report.workers]
    if pods:
        print()
        rows = [
            [pod.name, role, pod.state, "yes" if pod.ready else "no", str(pod.restarts), pod.node or "-"]
            for role, pod in pods
        ]
        print_table(["POD", "ROLE", "STATE", "READY", "RESTARTS", "NODE"], rows)
    told = [f"{pod.name}: {pod.why}" for _, pod in pods if pod.why]
    told += [
        f"{short_time(now - each.at)} ago, {each.about}: {each.reason}{f' (x{each.count})' * (each.count > 1)}: "
        f"{each.message}"
        for each in report.warnings
    ]
    for line in ["", *told] if told else []:
        print(line)
    if report.hint:
        print(f"\nhint: {report.hint}")


def _limits(job: JobView) -> str:
    if not job.elastic:
        return ""
    most = f"to {job.max_workers}" if job.max_workers else "or more"
    return f", elastic with {job.min_workers} {most} workers"


def _sentence(job: JobView) -> str:
    # The workers of a job that has ended are gone, or of no interest.
    ready = "" if job.is_finished else f", {job.workers_ready} of {job.workers} workers ready"
    why = job.message or job.reason
    return f"{job.state}{ready}{f' ({why})' if why else ''}"


def _goes_on(name: str, context: str | None, namespace: str | None) -> Callable[[], str]:
    """Says what Ctrl-C does not end."""
    cancelling = command_line("cancel", name, context, namespace)
    return lambda: f"job {name!r} still runs on the cluster; '{cancelling}' ends it"


def _exit_as(job: JobView | None, name: str) -> None:
    """Ends the command as the job ended."""
    if job is None:
        print(f"job {name!r} was deleted before its end", file=sys.stderr)
        raise typer.Exit(JOB_FAILED)
    ran = short_time(job.duration(datetime.now(UTC)))
    print(f"job {name!r}: {job.state} after {ran}{f' ({job.message})' if job.message else ''}", file=sys.stderr)
    if job.state != SUCCEEDED:
        raise typer.Exit(JOB_FAILED)


def _seconds(text: str) -> int:
    if not (match := _TIME.fullmatch(text)):
        raise InputError(f"'--timeout' is {text!r}; give seconds, or a number with s, m, h or d, such as 10m")
    return int(match[1]) * _UNIT_SECONDS[match[2]]
