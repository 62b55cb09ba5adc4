"""The group `sagemaker`: the recipes as training jobs of SageMaker, and these jobs."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from training_workloads.aws.errors import RejectionError, UnreachableError, aws_errors
from training_workloads.aws.session import AwsSession
from training_workloads.cli.cluster_output import note, print_json, print_table, progress, short_time
from training_workloads.cli.commands import Group
from training_workloads.cli.completion import complete_recipes
from training_workloads.cli.local_commands import local_folders
from training_workloads.cli.parameters import (
    WHOLE_NUMBER,
    WholeNumber,
    environment_option,
    json_option,
    open_network_option,
    seconds,
    volumes_option,
)
from training_workloads.cli.program import failures_as_lines
from training_workloads.cluster.failures import TransientError
from training_workloads.cluster.polling import Poller
from training_workloads.exit_codes import CLUSTER_FAILED, JOB_FAILED
from training_workloads.images.pushed_images import PUSHED_IMAGES, pushed_images
from training_workloads.recipes import find_recipes
from training_workloads.recipes import recipe as job_of_recipe
from training_workloads.sagemaker.job_log import JobLog
from training_workloads.sagemaker.place import SAGEMAKER_STACK, Place
from training_workloads.sagemaker.training_jobs import COMPLETED, NAME, TrainingJob, TrainingJobs
from training_workloads.terminal import print_raw, say
from training_workloads.validation import InputError, Problem, at_least, check, matches

__all__ = ["app", "logs", "run_local", "status", "stop", "submit"]

app = Group("sagemaker", help="Run recipes on SageMaker instead of a cluster.")

# What is left of a name of at most 63 characters, beside the time.
_LONGEST_PREFIX = 47

_THROTTLED = re.compile("Throttl|TooManyRequests|RequestLimitExceeded|SlowDown")


def _check_name(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """Reject other texts than names before a request is sent, such as an unset variable of a script."""
    check(matches("name", name, NAME, "the name of a training job, as 'submit' prints it"))
    return name


_name_argument = click.argument("name", help="Name of the training job.", callback=_check_name)
_recipe_argument = click.argument("recipe", help="As for 'render'.", shell_complete=complete_recipes)


@app.command()
@_recipe_argument
@click.option("--name", help="Name of the job. Default: the recipe's with the time.")
@click.option("--image", help="Image in ECR by its digest. Default: that of 'image push'.")
@click.option("--instance-type", help="Type of the instances, with or without ml. Default: the recipe's.")
@click.option(
    "--instances",
    type=WHOLE_NUMBER,
    help="Instances, with all GPUs of each. Default: as few as hold the recipe's ranks.",
)
@click.option("--spot/--no-spot", default=None, help="Spot capacity. Default: as the recipe.")
@click.option("--max-wait", help="Longest time with Spot, waiting and running. Default: a day to wait.")
@click.option("--max-runtime", help="Longest time, such as 12h. Default: the recipe's.")
@click.option("--resume", metavar="NAME", help="An ended job whose run this one continues.")
@click.option(
    "--volume-gb",
    type=WholeNumber(500),
    help="Disk of each instance without an instance store. Default: 500 with copied data.",
)
@click.option("--data", metavar="S3", help="Data set in S3: s3://bucket/folder.")
@click.option("--input-mode", help="How data is read from S3: File copies it first; FastFile reads on demand.")
@click.option("--lustre", metavar="FOLDER", help="Data set in FSx for Lustre: fs-…:/<mount name>/folder.")
@click.option("--efs", metavar="FOLDER", help="Data set in EFS: fs-…:/folder.")
@click.option("--encrypt-traffic", is_flag=True, help="Encrypt the traffic between hosts: NCCL takes TCP, not EFA.")
@click.option("--network-isolation", is_flag=True, help="Containers reach the other hosts of the job alone.")
@click.option("--stack", default=SAGEMAKER_STACK, help="Stack with role, network and bucket.")
@click.option("--role", metavar="ARN", help="Role of the job. Default: the stack's.")
@click.option("--bucket", help="Bucket of data and runs. Default: the stack's.")
@click.option("--subnets", help="Ids of subnets, joined by commas. Default: the stack's.")
@click.option("--security-groups", help="Ids of security groups, joined by commas. Default: the stack's.")
@click.option("--dry-run", is_flag=True, help="Print the request, for 'aws sagemaker create-training-job'.")
@json_option
def submit(
    recipe: str,
    name: str | None,
    image: str | None,
    instance_type: str | None,
    max_wait: str | None,
    max_runtime: str | None,
    dry_run: bool,
    as_json: bool,
    stack: str,
    **fields: Any,
) -> None:
    """Start a recipe as a training job, after the request was checked."""
    from training_workloads.sagemaker.job_request import SageMakerJob, training_job_request

    of_place = {name: fields.pop(name) for name in ("role", "bucket", "subnets", "security_groups")}
    job = SageMakerJob(
        spec=_spec(recipe, image, instance_type, max_runtime),
        name=_default_name(recipe) if name is None else name,
        max_wait_seconds=None if max_wait is None else seconds("max_wait", max_wait),
        **fields,
    )
    with failures_as_lines():
        place = _place(stack, of_place)
        if job.resume is not None:
            job = replace(job, resume_folder=_run_of(_jobs().describe(job.resume, "resume")))
        request = training_job_request(job, place)
        if dry_run:
            print_raw(json.dumps(request, indent=2))
            return
        arn = _jobs().create(request)
    folder = job.run_folder(place)
    if as_json:
        print_json({"name": job.name, "arn": arn, "run_folder": folder})
    else:
        where = f", whose run is in {folder}" if folder else ""
        say(f"created training job {job.name!r}{where}", f"next: {_command('logs -f', job.name)}")


@app.command()
@_recipe_argument
@click.option("--ranks", type=WHOLE_NUMBER, help="Number of ranks. Default: 2.")
@open_network_option
@volumes_option
@environment_option
def run_local(recipe: str, ranks: int | None, open_network: bool, volumes: str, environment: str | None) -> None:
    """Run a recipe on this machine as one host of SageMaker does, on the CPU, and return its exit code."""
    from training_workloads.sagemaker.local_run import run_as_on_sagemaker

    job = job_of_recipe(recipe, among=find_recipes())
    folders = local_folders(volumes, environment)
    raise click.exceptions.Exit(run_as_on_sagemaker(job, **folders, ranks=ranks, open_network=open_network))


@app.command()
@_name_argument
@json_option
def status(name: str, as_json: bool) -> None:
    """Show the states of a job, why it failed, what it costs, and its last metrics."""
    with failures_as_lines():
        job = _jobs().describe(name)
    if as_json:
        print_json(job)
    else:
        _print_status(job)


@app.command()
@_name_argument
@click.option("--follow", "-f", is_flag=True, help="Continue until the end of the job.")
def logs(name: str, follow: bool) -> None:
    """Print the log of all hosts; with -f, exit as the job does: 0 completed, 1 failed or stopped."""
    with failures_as_lines(), _still_runs(name), progress() as show:
        jobs = _jobs()
        job, log = jobs.describe(name), JobLog(jobs.session, name)
        if not follow:
            _print_new(log, lambda question: question())
            return
        poller = Poller(note=note)
        while True:
            # The state first: what the log has after the end is still shown.
            show("")
            _print_new(log, lambda question: _ask(poller, question))
            if job.is_ended:
                break
            show(_sentence(job))
            poller.pause()
            job = _ask(poller, lambda: jobs.describe(name))
    _exit_as(job)


@app.command()
@_name_argument
@json_option
def stop(name: str, as_json: bool) -> None:
    """Stop a job, and wait until it has: its ranks have two minutes to save a checkpoint."""
    with failures_as_lines(), _still_runs(name), progress() as show:
        jobs = _jobs()
        job = jobs.describe(name)
        was_ended = job.is_ended
        if not was_ended:
            jobs.stop(name)
            poller = Poller(note=note)
            while not job.is_ended:
                show(_sentence(job))
                poller.pause()
                job = _ask(poller, lambda: jobs.describe(name))
            show("")
    if as_json:
        print_json({"name": name, "status": job.status, "run_folder": job.run_folder})
    else:
        say(f"training job {name!r} had ended: {job.status}" if was_ended else _sentence(job))


def _spec(name: str, image: str | None, instance_type: str | None, max_runtime: str | None) -> Any:
    """Return the job of a recipe, with its image as it was pushed."""
    from training_workloads.catalog.sagemaker_types import bare_type, retirement_note

    found = find_recipes()
    changes: dict[str, Any] = {} if image is None else {"image": image}
    if max_runtime is not None:
        changes["deadline_seconds"] = longest = seconds("max_runtime", max_runtime)
        check(at_least("max_runtime", longest, 1))
    spec: Any = job_of_recipe(name, among=found, **changes)
    if instance_type is not None:
        changes["instance_type"] = bare_type(instance_type)
        # A part of a node may have no whole EFA interface; SageMaker puts the ranks on whole instances.
        changes |= {"efa_interfaces": 0} if getattr(spec, "gpus_per_worker", None) is not None else {}
        spec = job_of_recipe(name, among=found, **changes)
    if note := retirement_note(getattr(spec, "instance_type", "")):
        say(f"warning: {note}", error=True)
    if address := pushed_images().get(spec.image):
        say(f"the image is {address}, by {PUSHED_IMAGES}", error=True)
        return spec.replaced(image=address)
    return spec


def _default_name(name: str) -> str:
    """Return a name that no job has had: SageMaker keeps the names of all jobs."""
    prefix = re.sub("[^a-zA-Z0-9]+", "-", name)[:_LONGEST_PREFIX].strip("-")
    return f"{prefix}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _place(stack: str, given: Mapping[str, str | None]) -> Place:
    """Return where the job runs; with both a role and a bucket, no stack is asked."""
    outputs: Mapping[str, str] = {}
    if given["role"] is None or given["bucket"] is None:
        with aws_errors("cloudformation"):
            outputs = AwsSession().outputs(stack)
    place = Place.of_stack(outputs).changed(**given)
    place.check()
    return place


def _jobs() -> TrainingJobs:
    with aws_errors("sagemaker"):
        return TrainingJobs(AwsSession())


def _run_of(job: TrainingJob) -> str:
    """Return the folder of an ended job's run, which may be that of one before it."""
    if not job.is_ended:
        allowed = f"it is {job.secondary_status}, and two jobs must not write one run"
        fix = f"wait for its end, or '{_command('stop', job.name)}'"
        raise InputError(Problem(path=("resume",), given=job.name, allowed=allowed, fix=fix))
    if not job.run_folder:
        allowed = "it has saved no checkpoints"
        raise InputError(Problem(path=("resume",), given=job.name, allowed=allowed, fix="omit it, to begin a run"))
    return job.run_folder


def _ask(poller: Poller, question: Callable[[], Any]) -> Any:
    """Return the answer; retry while SageMaker cannot be reached, or has too many requests."""

    def tolerant() -> Any:
        try:
            return question()
        except UnreachableError as error:
            raise TransientError(str(error), "check the network of this machine") from error
        except RejectionError as error:
            if _THROTTLED.search(error.code):
                raise TransientError(str(error), "try again later") from error
            raise

    try:
        return poller.ask(tolerant)
    except TransientError as error:
        say(f"error: {error}", error=True)
        raise click.exceptions.Exit(CLUSTER_FAILED) from error


def _print_new(log: JobLog, ask: Callable[[Callable[[], Any]], Any]) -> None:
    more = True
    while more:
        lines, more = ask(log.read)
        for line in lines:
            print_raw(line)


@contextmanager
def _still_runs(name: str) -> Iterator[None]:
    """After Ctrl-C, print what continues and how to end it."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"the training job continues; '{_command('stop', name)}' ends it", error=True)
        raise


def _exit_as(job: TrainingJob) -> None:
    """End the command as the job ended."""
    say(_sentence(job), error=True)
    if job.status != COMPLETED:
        raise click.exceptions.Exit(JOB_FAILED)


def _command(verb: str, name: str) -> str:
    return f"trainctl sagemaker {verb} {name}"


def _sentence(job: TrainingJob) -> str:
    state = job.status if job.secondary_status in ("", job.status) else f"{job.status}, {job.secondary_status}"
    return f"training job {job.name!r}: {state}{f' ({job.failure_reason})' * bool(job.failure_reason)}"


def _print_status(job: TrainingJob) -> None:
    now = datetime.now(UTC)
    say(_sentence(job))
    trained = [
        f"{words} {short_time(timedelta(seconds=given))}"
        for words, given in (("trained", job.training_seconds), ("billable", job.billable_seconds))
        if given is not None
    ]
    capacity = f"{job.instances} x {job.instance_type}{' on Spot capacity' * job.spot}"
    say(", ".join([capacity, f"age {short_time(now - job.created)}", *trained]))
    if job.run_folder:
        say(f"run: {job.run_folder}")
    if job.metrics:
        say(f"metrics: {', '.join(f'{name} {value:g}' for name, value in job.metrics.items())}")
    if job.transitions:
        say("")
        rows = [
            (one.status, f"{one.start.astimezone(UTC):%H:%M:%S}", short_time((one.end or now) - one.start), one.message)
            for one in job.transitions
        ]
        print_table(["STATE", "FROM (UTC)", "FOR", "MESSAGE"], rows)
