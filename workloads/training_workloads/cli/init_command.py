"""The command `init`: a project of the user, outside this repository, that works with the installed package alone.

The files in `project/` are a project with names that `init` replaces, so that the checks of this repository hold for
them as they are. Its subfolders have the files that differ between frameworks.
"""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import click

from training_workloads.cli.commands import Command
from training_workloads.mpijob.api import job_name
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem, Problems, enforce, known_names

__all__ = ["FRAMEWORKS", "PROJECT_FILES", "Framework", "init"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Framework:
    """A framework of `train.py`.

    Attributes:
        about: For the prompt.
        folder: The folder of the files that it shares with another framework.
        dockerfile: That of the image on which the project's is built, in a clone.
    """

    about: str
    folder: str
    dockerfile: str


_TENSORFLOW: Final = {"folder": "tensorflow", "dockerfile": "training/Dockerfile"}
_TORCH: Final = {"folder": "torch", "dockerfile": "training/torch.Dockerfile"}

#: By the name of the folder with the files that no other has.
FRAMEWORKS: Final = {
    "keras": Framework(about="Keras' model.fit, with TensorFlow's own strategy; an MPIJob", **_TENSORFLOW),
    "horovod": Framework(about="Keras' model.fit, with Horovod; an MPIJob", **_TENSORFLOW),
    "pytorch": Framework(about="a loop of PyTorch; a job of torchrun", **_TORCH),
    "transformers": Framework(about="Hugging Face's Trainer; a job of torchrun", **_TORCH),
}

# The one that runs on each kind of job, Spot nodes and EFA included, and has been here longest.
_DEFAULT: Final = "horovod"

_PLACEHOLDER: Final = "my-project"

# The line of README.md in the place of which the text of the framework is.
_TRAINING: Final = "<!-- the training of the framework -->\n"

#: The files of a project, with what each is for. Those with a dot have none in the package, where Git would obey them.
PROJECT_FILES: Final = {
    "train.py": "the training; every rank runs it",
    "recipes.py": "the jobs: command, instance type, workers",
    "cluster.yaml": "the cluster's GPU nodes and file system",
    "app.py": "the CDK app of that cluster",
    "cdk.json": "what the CDK's command line runs",
    "test_project.py": "tests of the jobs and the cluster",
    "test_training.py": "a test that kills the training",
    "Dockerfile": "the image of the jobs",
    "requirements.txt": "packages of everything except the training",
    "requirements-training.txt": "packages of the training",
    # Where the framework has it.
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
@click.option(
    "--framework",
    metavar="NAME",
    shell_complete=lambda ctx, param, incomplete: [each for each in FRAMEWORKS if each.startswith(incomplete)],
    help=f"That of train.py: {', '.join(FRAMEWORKS)}. Default: asked for on a terminal, else {_DEFAULT}.",
)
def init(name: str, framework: str | None) -> None:
    """Write a project of your own: a training script that resumes, its job, its cluster and their tests."""
    # Completion of a shell adds the slash of an empty folder.
    name = name.removesuffix("/")
    enforce(name, (_is_the_name_of_a_job, _is_not_taken))
    if framework is not None:
        enforce(framework, (_is_known,))
    framework = framework or (_asked() if _is_terminal() else _DEFAULT)
    found = _found(framework)
    _write(name, framework, found)
    for file in found:
        say(f"{f'{name}/{file}':<{len(name) + 26}} {PROJECT_FILES[file]}")
    say("", f"next: cd {name} && trainctl render && trainctl lint dist/jobs; README.md has every command, in order")


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _asked() -> str:
    for each, known in FRAMEWORKS.items():
        say(f"{each:<13} {known.about}")
    answer: str = click.prompt("framework", type=click.Choice(list(FRAMEWORKS)), default=_DEFAULT, show_choices=False)
    return answer


def _found(framework: str) -> dict[str, Traversable]:
    """Return the files of a project; each is in the folder of the framework, in the one that it shares, or above."""
    top = files("training_workloads") / "project"
    folders = [top / framework, top / FRAMEWORKS[framework].folder, top]
    places = {file: [folder / file.removeprefix(".") for folder in folders] for file in PROJECT_FILES}
    found = {file: next((each for each in those if each.is_file()), None) for file, those in places.items()}
    return {file: place for file, place in found.items() if place}


def _write(name: str, framework: str, found: Mapping[str, Traversable]) -> None:
    training = files("training_workloads") / "project" / framework / "training.md"
    words = {
        _TRAINING: f"{training.read_text(encoding='utf-8')}\n",
        "my-dockerfile": FRAMEWORKS[framework].dockerfile,
        "my-framework": framework,
        _PLACEHOLDER: name,
    }
    try:
        # The project is complete or absent: a full disk leaves no half of it.
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=".") as scratch:
            folder = Path(scratch, name)
            folder.mkdir()
            for file, place in found.items():
                text = place.read_text(encoding="utf-8")
                for placeholder, word in words.items():
                    text = text.replace(placeholder, word)
                (folder / file).write_text(text, encoding="utf-8")
            folder.rename(name)
    except OSError as error:
        allowed = f"the folder cannot be written here ({error.strerror})"
        fix = "run it in a folder that you may write to, with free space"
        raise InputError(Problem(path=("name",), given=name, allowed=allowed, fix=fix)) from error


def _is_known(framework: str) -> Problems:
    if framework not in FRAMEWORKS:
        yield Problem(path=("framework",), given=framework, fix=known_names(framework, list(FRAMEWORKS)))


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
