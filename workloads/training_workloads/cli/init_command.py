"""The command `init`: a project of the user, outside this repository, that works with the installed package alone.

The files in `project/` are a project with the name that `init` replaces, so that the checks of this repository hold for
them as they are.
"""

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from training_workloads.cli.commands import Command
from training_workloads.mpijob.api import job_name
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem, Problems, enforce

__all__ = ["PROJECT_FILES", "init"]

_PLACEHOLDER: Final = "my-project"

#: The files of a project, with what each is for. Those with a dot have none in the package, where Git would obey them.
PROJECT_FILES: Final = {
    "train.py": "the training; every rank runs it",
    "recipes.py": "the jobs: command, instance type, workers",
    "cluster.yaml": "the cluster's GPU nodes and file system",
    "app.py": "the CDK app of that cluster",
    "cdk.json": "what the CDK's command line runs",
    "test_project.py": "tests of the jobs and the cluster",
    "Dockerfile": "the image of the jobs",
    "requirements.txt": "packages of everything except the training",
    "requirements-training.txt": "packages of the training",
    "requirements-horovod.txt": "Horovod, which is built against those",
    "README.md": "every command, in order",
    ".gitignore": "what Git ignores",
    ".dockerignore": "what Docker ignores",
}

# The workers of the recipe in the project.
_WORKERS: Final = 2

_FEW_FILES: Final = 3


@click.command(cls=Command)
@click.argument("name", help="Name of the new folder, the project and its job.")
def init(name: str) -> None:
    """Write a project of your own: a training script, its job, its cluster and their tests."""
    # Completion of a shell adds the slash of an empty folder.
    name = name.removesuffix("/")
    enforce(name, (_is_the_name_of_a_job, _is_not_taken))
    _write(name)
    for file, purpose in PROJECT_FILES.items():
        say(f"{f'{name}/{file}':<{len(name) + 26}} {purpose}")
    say("", f"next: cd {name} && trainctl render && trainctl lint dist/jobs; README.md has every command, in order")


def _write(name: str) -> None:
    template = files("training_workloads") / "project"
    try:
        # The project is complete or absent: a full disk leaves no half of it.
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=".") as scratch:
            folder = Path(scratch, name)
            folder.mkdir()
            for file in PROJECT_FILES:
                text = (template / file.removeprefix(".")).read_text(encoding="utf-8")
                (folder / file).write_text(text.replace(_PLACEHOLDER, name), encoding="utf-8")
            folder.rename(name)
    except OSError as error:
        allowed = f"the folder cannot be written here ({error.strerror})"
        fix = "run it in a folder that you may write to, with free space"
        raise InputError(Problem(path=("name",), given=name, allowed=allowed, fix=fix)) from error


def _is_the_name_of_a_job(name: str) -> Problems:
    if "/" in name or name in (".", ".."):
        allowed = "it is a path, and the project's job has the name too"
        fix = "go to the folder that contains the project, and give a name such as my-project"
        yield Problem(path=("name",), given=name, allowed=allowed, fix=fix)
    else:
        yield from job_name("name", name, _WORKERS)


def _is_not_taken(name: str) -> Problems:
    """Reject the name of a file, or of a folder with files."""
    path = Path(name)
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir())
        shown = ", ".join([*names[:_FEW_FILES], *["…"] * (len(names) > _FEW_FILES)])
        allowed = f"that folder exists and contains {shown}"
    else:
        names, allowed = [name] * (path.exists() or path.is_symlink()), "a file has that name"
    if names:
        yield Problem(path=("name",), given=name, allowed=allowed, fix="give another name")
