"""The group `image`: the image of the jobs, built and pushed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from training_workloads.aws.errors import aws_errors
from training_workloads.aws.session import DATA_STACK, AwsSession, new_tag, repository_address
from training_workloads.cli.commands import Group
from training_workloads.cli.program import failures_as_lines
from training_workloads.images.build_folder import ImageError, build_arguments, find_dockerfile, local_name
from training_workloads.images.code_build import start_build
from training_workloads.images.container_engine import ENGINES, find_engine
from training_workloads.images.pushed_images import PUSHED_IMAGES, record_push
from training_workloads.mpijob.programs import LOCAL_IMAGE
from training_workloads.terminal import print_raw, say
from training_workloads.validation import check, one_of

__all__ = ["app", "build", "push"]

app = Group("image", help="Build and push the image of the jobs.")

_CODEBUILD: Final = "codebuild"

_image_option = click.option(
    "--image",
    metavar="NAME",
    help=f"Name of the image on this machine. Default: {LOCAL_IMAGE} in a clone, else localhost/<folder>:latest; "
    "with -torch for torch.Dockerfile.",
)
_stack_option = click.option("--stack", default=DATA_STACK, help="Stack with the repository.")


@app.command()
@click.argument("folder", default=".", help="A clone, or a project that 'init' wrote.")
@click.option(
    "--engine", help=f"{', '.join(ENGINES)} or {_CODEBUILD}, which also pushes. Default: the one that answers."
)
@click.option("--dockerfile", metavar="FILE", help="Path in the folder. Default: training/Dockerfile or Dockerfile.")
@click.option("--build-arg", metavar="NAME=VALUE", multiple=True, help="Argument of the Dockerfile; may be repeated.")
@_image_option
@_stack_option
def build(
    folder: str, engine: str | None, dockerfile: str | None, build_arg: tuple[str, ...], image: str | None, stack: str
) -> None:
    """Build the image of the jobs: here, or in AWS with the project of the data stack."""
    place = Path(folder)
    file, arguments = find_dockerfile(place, dockerfile), build_arguments(list(build_arg))
    name = image or local_name(place, file)
    if engine != _CODEBUILD:
        chosen = find_engine(_known(engine, *ENGINES, _CODEBUILD), otherwise=f"give '{_CODEBUILD}' to build in AWS")
        with failures_as_lines():
            chosen.build(place, file, name, arguments)
        other = f" --image {name}" * (name != local_name(place))
        say(f"built {name}; next: trainctl image push{other}", error=True)
        return
    with failures_as_lines(), aws_errors():
        started = start_build(AwsSession(), stack, place, file, arguments)
        say(f"started {started.id}", error=True)
        with _continues(started.id):
            address = started.follow(lambda line: print_raw(line, error=True))
        _pushed(name, address)


@app.command()
@_image_option
@click.option("--engine", help=f"{' or '.join(ENGINES)}. Default: the one that answers.")
@click.option("--repository", help="Address of a repository in ECR. Default: that of the stack.")
@_stack_option
def push(image: str | None, engine: str | None, repository: str | None, stack: str) -> None:
    """Push the image to the repository; jobs then use it by its digest."""
    name = image or local_name(Path())
    address = repository_address(repository) if repository is not None else None
    chosen = find_engine(_known(engine, *ENGINES))
    with failures_as_lines(), aws_errors():
        chosen.require(name)
        session, tag = AwsSession(), new_tag()
        target = address or session.output(stack, "ImageRepositoryUri")
        session.require(target)
        chosen.push(name, f"{target}:{tag}", session.password(target))
        _pushed(name, session.address(target, tag))


def _known(engine: str | None, *names: str) -> str | None:
    if engine is not None:
        check(one_of("engine", engine, names))
    return engine


def _pushed(name: str, address: str) -> None:
    # First: a record that cannot be written must not lose the address.
    say(address)
    record_push(name, address)
    say(f"recorded in {PUSHED_IMAGES}: 'trainctl render' gives jobs this image for {name}", error=True)


@contextmanager
def _continues(build_id: str) -> Iterator[None]:
    """After Ctrl-C, or an error of AWS, print what may still run and how to end it."""
    try:
        yield
    except ImageError:
        # The build has ended, and the error names it.
        raise
    except BaseException:
        say(f"the build continues; 'aws codebuild stop-build --id {build_id}' ends it", error=True)
        raise
