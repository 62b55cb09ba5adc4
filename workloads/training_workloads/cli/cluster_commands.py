"""The commands for jobs on a cluster: `submit`, `list`, `status`, `logs`, `wait`, `scale` and `cancel`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import click

from training_workloads.cli.cluster_output import (
    command_line,
    job_sentence,
    note,
    note_waiting,
    print_jobs,
    print_json,
    print_report,
    progress,
    session,
    short_time,
)
from training_workloads.cli.commands import Command, ProgramCommand
from training_workloads.cli.node_history import read_ended_nodes
from training_workloads.cli.parameters import (
    NUMBER,
    WHOLE_NUMBER,
    context_option,
    json_option,
    launcher_option,
    name_argument,
    names_argument,
    namespace_option,
    recursive_option,
    seconds,
    submitted_argument,
)
from training_workloads.cluster.client import Cluster
from training_workloads.cluster.elastic_scaling import scale_job, wait_until_scaled
from training_workloads.cluster.failures import ForbiddenError
from training_workloads.cluster.hints import rejected_input
from training_workloads.cluster.job_summaries import SUCCEEDED, SUSPENDED
from training_workloads.cluster.jobs import (
    PODS_END_SECONDS,
    ClusterJob,
    delete_job,
    delete_part,
    find_job,
    list_jobs,
    parts_of,
    try_find_job,
    wait_for_end,
    wait_until_gone,
)
from training_workloads.cluster.logs import follow_log, read_log
from training_workloads.cluster.polling import DeadlineError, Poller, Progress
from training_workloads.cluster.status import report_job
from training_workloads.exit_codes import JOB_FAILED, USER_ERROR
from training_workloads.run_local.rank_lines import rank_line
from training_workloads.terminal import print_raw, say
from training_workloads.validation import MISSING, InputError, Problem, at_least, check, matches

if TYPE_CHECKING:
    from training_workloads.cluster.submit import Submission
    from training_workloads.manifests.documents import Document

__all__ = ["cancel", "list_all", "logs", "scale", "status", "submit", "wait"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Patience:
    """How long a command waits: the value of `--timeout`, and since when."""

    seconds: int | None
    since: float

    @classmethod
    def of(cls, timeout: str | None) -> Self:
        """Return the time of `--timeout`, from now on."""
        return cls(seconds=None if timeout is None else seconds("timeout", timeout), since=time.monotonic())

    @property
    def deadline(self) -> float | None:
        """When to give up, in seconds of the monotonic clock."""
        return None if self.seconds is None else self.since + self.seconds

    @property
    def used(self) -> str:
        """The time since then, as the commands show it."""
        return short_time(timedelta(seconds=time.monotonic() - self.since))

    def __str__(self) -> str:
        return short_time(timedelta(seconds=self.seconds or 0))


@dataclass(kw_only=True, slots=True)
class _Submitting:
    """The objects that `submit` has planned, and those that it has created."""

    quiet: bool
    planned: list["Submission"] = field(default_factory=list)
    created: list["Submission"] = field(default_factory=list)

    def show(self, submission: "Submission") -> None:
        self.created.append(submission)
        if not self.quiet:
            say(f"created {submission.title}")

    def remains(self) -> str:
        return f"on the cluster already: {', '.join(each.title for each in self.created)}" if self.created else ""

    def in_doubt(self) -> str:
        unfinished = self.planned[len(self.created) :]
        return f"perhaps there too: {unfinished[0].title}" if unfinished else ""


@dataclass(kw_only=True, slots=True)
class _Cancelling:
    """What `cancel` has deleted and has not, and the jobs whose pods it waits for."""

    quiet: bool
    deleted: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    waited_for: list[str] = field(default_factory=list)

    def delete(self, cluster: Cluster, jobs: list[ClusterJob]) -> None:
        """Delete every job, then what is beside them: without the permission for that, no job is left to run."""
        parts = [(job, *part) for job in jobs for part in parts_of(job)]
        titles = [f"{resource.kind} {name!r}" for _, resource, name in parts]
        self.left += [*(job.title for job in jobs), *(f"{title} (if it exists)" for title in titles)]
        for job in jobs:
            self._done(job.title, delete_job(cluster, job))
            self.waited_for.append(job.summary.name)
        for title, part in zip(titles, parts, strict=True):
            try:
                self._done(title, delete_part(cluster, *part))
            except ForbiddenError as error:
                note(f"not deleted: {self.left.pop(0)}: {error}")

    def _done(self, title: str, existed: bool) -> None:
        self.left.pop(0)
        if existed:
            self.deleted.append(title)
            if not self.quiet:
                say(f"deleted {title}")

    def remains(self) -> str:
        return f"not deleted: {', '.join(self.left)}" if self.left else ""

    def ending(self) -> str:
        names = ", ".join(map(repr, self.waited_for))
        return f"pods of {names} may still be ending: 'kubectl get pods' shows them" if names else ""


@click.command(cls=ProgramCommand)
@submitted_argument
@recursive_option
@click.option("--name", help="Name of the job of a recipe or a script.")
@click.option("--image", help="Image of that job.")
@click.option("--instance-type", help="EC2 type of its workers' nodes.")
@click.option("--workers", type=WHOLE_NUMBER, help="Number of its workers.")
@launcher_option
@click.option("--any-kind", is_flag=True, help="Create objects of every kind, also those that no job needs.")
@click.option("--max-cost", type=NUMBER, help="Dollars that a run may cost, over all its starts. Default: the job's.")
@context_option
@namespace_option
@json_option
def submit(
    files: tuple[str, ...],
    recursive: bool,
    any_kind: bool,
    max_cost: float | None,
    context: str | None,
    namespace: str | None,
    as_json: bool,
    name: str | None,
    launcher: str | None,
    arguments: tuple[str, ...],
    **changes: Any,
) -> None:
    """Check manifests, and create the objects in them; or the job of a recipe or a script."""
    # Here and below, because YAML and the schemas take 0.2 s to import.
    from training_workloads.cli.rendered_jobs import read_or_rendered
    from training_workloads.cluster.submit import plan_submission
    from training_workloads.cluster.submit import submit as submit_objects
    from training_workloads.cluster.submitted_cap import with_max_cost

    read, problems = read_or_rendered(files, name, changes, arguments=arguments, launcher=launcher, recursive=recursive)
    documents = _checked(read, problems)
    if max_cost is not None:
        documents = with_max_cost(documents, max_cost)
    submitting = _Submitting(quiet=as_json)
    with session(context, namespace, remains=submitting.remains, still_runs=submitting.in_doubt) as cluster:
        submitting.planned += plan_submission(cluster, documents, note, namespace=namespace, any_kind=any_kind)
        submit_objects(submitting.planned, submitting.show)
        if as_json:
            print_json([_reference(each) for each in submitting.created])
            return
        for job in (each for each in submitting.created if each.is_job):
            elsewhere = namespace or (job.cluster.namespace if job.cluster.namespace != cluster.namespace else None)
            say(f"next: {command_line('logs -f', job.name_for_logs, context, elsewhere)}")


@click.command("list", cls=Command)
@click.option("--all-namespaces", "-A", is_flag=True, help="Include every namespace.")
@context_option
@namespace_option
@json_option
def list_all(all_namespaces: bool, context: str | None, namespace: str | None, as_json: bool) -> None:
    """Show the jobs, the newest last."""
    with session(context, namespace) as cluster:
        jobs = list_jobs(cluster, all_namespaces=all_namespaces)
        where = "the cluster" if all_namespaces else f"namespace {cluster.namespace!r}"
    if as_json:
        print_json(jobs)
    elif jobs:
        print_jobs(jobs, with_namespace=all_namespaces)
    else:
        say(f"no jobs in {where}")


@click.command(cls=Command)
@name_argument
@context_option
@namespace_option
@json_option
def status(name: str, context: str | None, namespace: str | None, as_json: bool) -> None:
    """Show the state of a job, its reason, and its pods."""
    with session(context, namespace) as cluster:
        report = report_job(cluster, name, read_ended_nodes)
    if as_json:
        print_json(report)
    else:
        print_report(report)


@click.command(cls=Command)
@name_argument
@click.option("--follow", "-f", is_flag=True, help="Continue until the end of the job.")
@click.option("--worker", type=WHOLE_NUMBER, help="Number of a worker, from 0. Default: the launcher; of torchrun 0.")
@click.option("--tail", type=WHOLE_NUMBER, help="Begin this many lines before the end.")
@context_option
@namespace_option
def logs(
    name: str, follow: bool, worker: int | None, tail: int | None, context: str | None, namespace: str | None
) -> None:
    """Print the launcher's log; with -f, exit as the job does: 0 succeeded, 1 failed."""
    check(*(at_least(name, given, 0) for name, given in (("worker", worker), ("tail", tail)) if given is not None))
    still_runs = _still_runs(name, context, namespace)
    with session(context, namespace, still_runs=still_runs) as cluster, progress(note_waiting()) as show:
        if not follow:
            for line in read_log(cluster, name, worker=worker, tail=tail):
                print_raw(rank_line(line))
            return
        poller = Poller(note=note)
        for line in follow_log(cluster, name, poller, show, worker=worker, tail=tail):
            show("")
            print_raw(rank_line(line))
        show("")
        job = poller.ask(lambda: try_find_job(cluster, name))
        # A worker's pod may end before its job does.
        if worker is None or job is None or job.summary.is_finished or job.will_fail:
            _exit_as(job, name)


@click.command(cls=Command)
@name_argument
@click.option("--timeout", help="Longest wait, such as 90s, 10m or 2h. Default: none.")
@context_option
@namespace_option
@json_option
def wait(name: str, timeout: str | None, context: str | None, namespace: str | None, as_json: bool) -> None:
    """Wait for the end of a job, and exit as it does: 0 succeeded, 1 failed or deleted, 4 not ended in time."""
    patience = _Patience.of(timeout)
    still_runs = _still_runs(name, context, namespace)

    def late() -> str:
        return f"{name!r} has not ended within {patience}; {still_runs()}"

    with session(context, namespace, still_runs=still_runs, late=late) as cluster, progress() as show:
        poller = Poller(note=note, deadline=patience.deadline)
        _exit_as(_end_of(cluster, name, poller, show, as_json=as_json), name)


@click.command(cls=Command)
@name_argument
@click.argument("workers", help="Number of worker pods.")
@click.option("--timeout", default="10m", help="Longest wait, such as 90s, 10m or 2h.")
@context_option
@namespace_option
@json_option
def scale(name: str, workers: str, timeout: str, context: str | None, namespace: str | None, as_json: bool) -> None:
    """Change the number of workers of an elastic job that runs, and wait until they are ready."""
    if problems := list(matches("workers", workers, "0*[1-9][0-9]{0,8}", "a whole number from 1 to 999999999")):
        raise InputError(*problems)
    wanted, patience = int(workers), _Patience.of(timeout)
    reason = f"{command_line('status', name, context, namespace)!r} shows why"

    def still_scales() -> str:
        return f"the cluster continues to change {name!r} to {wanted} workers; {reason}"

    def late() -> str:
        return f"{name!r} does not have {wanted} ready workers within {patience}; {still_scales()}"

    with session(context, namespace, still_runs=still_scales, late=late) as cluster, progress(note_waiting()) as show:
        before = scale_job(cluster, name, wanted)
        if as_json:
            sizes = {"before": before.summary.workers, "workers": wanted}
            print_json({"name": name, "namespace": before.summary.namespace, **sizes})
        after: ClusterJob | None = before
        if before.summary.workers != wanted:
            poller = Poller(note=note, deadline=patience.deadline)
            after = wait_until_scaled(cluster, before, wanted, poller, show)
            show("")
    if after is None or after.summary.is_finished:
        _exit_as(after, name)
    elif not as_json:
        say(_scaled(before.summary.workers, after, patience))


@click.command(cls=Command)
@names_argument
@click.option("--finished", is_flag=True, help="Every job that succeeded or failed.")
@context_option
@namespace_option
@json_option
def cancel(names: tuple[str, ...], finished: bool, context: str | None, namespace: str | None, as_json: bool) -> None:
    """Delete jobs with their pods, NetworkPolicies and stores, and wait until the pods have ended."""
    if not names and not finished:
        raise InputError(_no_names())
    if names and finished:
        fix = "give one of the two"
        raise InputError(Problem(path=("name",), given=names[0], allowed="'--finished' chooses the jobs", fix=fix))
    run = _Cancelling(quiet=as_json)
    with (
        session(context, namespace, remains=run.remains, late=run.ending, still_runs=run.ending) as cluster,
        progress() as show,
    ):
        chosen = names or [summary.name for summary in list_jobs(cluster) if summary.is_finished]
        jobs = [find_job(cluster, name) for name in dict.fromkeys(chosen)]
        run.delete(cluster, jobs)
        poller = Poller(note=note, deadline=time.monotonic() + PODS_END_SECONDS)
        for ended in wait_until_gone(cluster, jobs, poller, show):
            run.waited_for.remove(ended)
    if as_json:
        print_json(run.deleted)


def _checked(read: "Sequence[tuple[str, Sequence[Document]]]", problems: list[Problem]) -> list["Document"]:
    """Return the objects of some files; print the lint's findings, and end the command if one is an error."""
    from training_workloads.cluster.submit import check_objects
    from training_workloads.lint import lint_read
    from training_workloads.recipes.cluster_fit import noted

    for file, documents in read:
        problems += check_objects(file, documents)
    linted = [(file, line, finding) for file, documents in read for finding, line in lint_read(documents)]
    known = {(problem.source, problem.path) for problem in problems}
    found = [each for each in linted if (f"{each[0]}:{each[1]}", each[2].path) not in known]
    for file, line, finding in found:
        say(f"{file}:{line}: {finding}", error=True)
    if problems:
        raise InputError(*problems)
    say(*(f"note: {problem}" for problem in noted(read)), error=True)
    if errors := sum(finding.level == "error" for _, _, finding in found):
        say(f"error: nothing was submitted; fix the {errors} error{'s' * (errors > 1)} first", error=True)
        raise click.exceptions.Exit(USER_ERROR)
    return [document for _, documents in read for document in documents if document.content is not None]


def _reference(submission: "Submission") -> dict[str, str | None]:
    return {
        "kind": submission.resource.kind,
        "name": submission.name,
        "namespace": submission.cluster.namespace if submission.resource.namespaced else None,
    }


def _no_names() -> Problem:
    return Problem(path=("name",), given=MISSING, fix="give names of jobs, or '--finished' for all that have ended")


def _end_of(cluster: Cluster, name: str, poller: Poller, show: Progress, *, as_json: bool) -> ClusterJob | None:
    """Wait for the end of a job; as JSON print its last known state, also when the deadline comes first."""
    job: ClusterJob | None = find_job(cluster, name)
    assert job is not None
    advise = cache(note)

    def keep(now: ClusterJob) -> None:
        nonlocal job
        job = now
        show(job_sentence(now.summary))
        if advice := rejected_input(now.summary, now.launchers):
            advise(advice)

    try:
        job = wait_for_end(cluster, job, poller, keep)
    except DeadlineError:
        if as_json:
            print_json(job.summary if job else None)
        raise
    if as_json:
        print_json(job.summary if job else None)
    return job


def _still_runs(name: str, context: str | None, namespace: str | None) -> Callable[[], str]:
    """Return a function that says what Ctrl-C does not end."""
    cancelling = command_line("cancel", name, context, namespace)
    return lambda: f"job {name!r} still runs on the cluster; '{cancelling}' ends it"


def _exit_as(job: ClusterJob | None, name: str) -> None:
    """End the command as the job ended."""
    if job is None:
        say(f"job {name!r} was deleted before its end", error=True)
        raise click.exceptions.Exit(JOB_FAILED)
    summary = job.summary
    if job.will_fail:
        say(f"job {name!r} fails: the launchers that Kubernetes still starts end at once", error=True)
    else:
        ran = short_time(summary.duration(datetime.now(UTC)))
        why = f" ({summary.message})" if summary.message else ""
        say(f"job {name!r}: {summary.state} after {ran}{why}", error=True)
    if summary.state != SUCCEEDED:
        if job.launchers and (pod := job.launchers[-1]).why:
            say(f"{pod.name}: {pod.why}", error=True)
        if advice := rejected_input(summary, job.launchers):
            say(f"hint: {advice}", error=True)
        raise click.exceptions.Exit(JOB_FAILED)


def _scaled(before: int, after: ClusterJob, patience: "_Patience") -> str:
    """Return the result of `scale`."""
    job = after.summary
    if before == job.workers:
        return f"{job.name!r} has {before} workers already"
    if job.state == SUSPENDED:
        return f"{job.name!r} will have {job.workers} workers instead of {before} when it continues; it is suspended"
    return f"{job.name!r} has {job.workers} ready workers instead of {before}, after {patience.used}"
