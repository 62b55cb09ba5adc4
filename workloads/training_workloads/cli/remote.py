"""The commands that change what runs on a cluster: `submit`, `scale` and `cancel`."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from training_workloads.cli.program import ON_A_CLUSTER, app
from training_workloads.cli.remote_output import (
    ContextOption,
    JsonOption,
    NameArgument,
    NamesArgument,
    NamespaceOption,
    command_line,
    note,
    print_json,
    progress,
    session,
)
from training_workloads.cluster.changes import delete_job, scale_job, wait_until_gone
from training_workloads.cluster.jobs import find_job, list_jobs
from training_workloads.cluster.manifests import read_manifests
from training_workloads.cluster.polling import Poller
from training_workloads.cluster.submitting import Submission, check_submission
from training_workloads.cluster.submitting import submit as submit_documents
from training_workloads.lint.run_rules import lint_read
from training_workloads.mpijob.documents import Document
from training_workloads.validation import InputError, check_text

__all__ = ["cancel", "scale", "submit"]

# What a pod gets to end (30 s by default), and what a node that is away takes to be given up (5 minutes).
_PODS_END_SECONDS = 360


@app.command(rich_help_panel=ON_A_CLUSTER)
def submit(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Manifests, such as dist/jobs/digits-p3.k8s.yaml, or folders."),
    ],
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check manifests, and create what they hold."""
    read = read_manifests(files)
    _lint(read)
    documents = [document.content for _, each in read for document in each]
    planned: list[Submission] = []
    made: list[Submission] = []

    def tell(submission: Submission) -> None:
        made.append(submission)
        if not as_json:
            print(f"created {submission.title}", flush=True)

    def remains() -> str:
        return f"on the cluster already: {', '.join(each.title for each in made)}" if made else ""

    def in_doubt() -> str:
        on_the_way = planned[len(made) :]
        return f"perhaps there too: {on_the_way[0].title}" if on_the_way else ""

    with session(context, namespace, remains=remains, still_runs=in_doubt) as cluster:
        planned += check_submission(cluster, documents, namespace=namespace)
        submit_documents(planned, tell)
        jobs = [each for each in made if each.is_job]
        if as_json:
            print_json([_reference(each) for each in made])
            return
        for job in jobs:
            elsewhere = namespace or (job.cluster.namespace if job.cluster.namespace != cluster.namespace else None)
            print(f"next: {command_line('logs -f', job.name, context, elsewhere)}")


@app.command(rich_help_panel=ON_A_CLUSTER)
def scale(
    name: NameArgument,
    workers: Annotated[str, typer.Argument(metavar="WORKERS", help="How many worker pods it shall have.")],
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the number of workers of an elastic job that runs."""
    check_text("WORKERS", workers, "[0-9]{1,9}", "a whole number")
    wanted = int(workers)
    with session(context, namespace) as cluster:
        before = scale_job(cluster, name, wanted)
    if as_json:
        print_json({"name": name, "namespace": before.namespace, "before": before.workers, "workers": wanted})
    elif before.workers == wanted:
        print(f"{name!r} has {wanted} workers already")
    else:
        print(
            f"{name!r} will have {wanted} workers instead of {before.workers}; the launcher sees it when the kubelet "
            "has brought it the new list of hosts, after about a minute"
        )


@app.command(rich_help_panel=ON_A_CLUSTER)
def cancel(
    names: NamesArgument = None,
    finished: Annotated[bool, typer.Option("--finished", help="Every job that has ended, well or badly.")] = False,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete jobs with all that belongs to them, and wait until their pods have ended."""
    if not names and not finished:
        raise InputError("'NAME' is missing; give names of jobs, or '--finished' for all that have ended")
    chosen = list(dict.fromkeys(names or ()))
    deleted: list[str] = []
    gone: list[str] = []

    def tell(title: str) -> None:
        deleted.append(title)
        if not as_json:
            print(f"deleted {title}", flush=True)

    def ending() -> str:
        waited_for = [name for name in chosen if name not in gone]
        return f"pods of {', '.join(map(repr, waited_for))} may still be ending: 'kubectl get pods' shows them"

    with session(context, namespace, late=ending, still_runs=ending) as cluster, progress() as show:
        if finished:
            ended = (view.name for view in list_jobs(cluster) if view.is_finished)
            chosen += [name for name in ended if name not in chosen]
        jobs = [find_job(cluster, name) for name in chosen]
        for job in jobs:
            delete_job(cluster, job, tell)
        poller = Poller(note=note, deadline=time.monotonic() + _PODS_END_SECONDS)
        for job in jobs:
            wait_until_gone(cluster, job, poller, show)
            gone.append(job.view.name)
    if as_json:
        print_json(deleted)


def _lint(read: list[tuple[Path, list[Document]]]) -> None:
    """Tells what is wrong in the manifests, and ends here if one of them cannot work."""
    found = [(path, line, finding) for path, documents in read for finding, line in lint_read(documents)]
    for path, line, finding in found:
        print(f"{path}:{line}: {finding}", file=sys.stderr)
    if errors := sum(finding.level == "error" for _, _, finding in found):
        many = "s" * (errors > 1)
        raise InputError(f"nothing was submitted because of {errors} error{many} in the manifests; mend what is told")


def _reference(submission: Submission) -> dict[str, str | None]:
    return {
        "kind": submission.resource.kind,
        "name": submission.name,
        "namespace": submission.cluster.namespace if submission.resource.namespaced else None,
    }
