"""Completion in a shell: the command that prints the script, and the names of recipes and jobs."""

import os
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from training_workloads.cli.command_help import MORE, Command
from training_workloads.cli.program import PROGRAM, app
from training_workloads.recipes import recipe_names
from training_workloads.validation import InputError, check, one_of

__all__ = ["complete_jobs", "complete_recipes", "completion", "prepare"]

# The module offers what it imports from private ones, in every release; mypy does not know that.
_TYPER: Any = import_module("typer.completion")

_SHELLS: Final = ("bash", "zsh", "fish")

# With this variable the shell's script asks the program for the next word.
_VARIABLE: Final = "_TRAINCTL_COMPLETE"


@app.command(cls=Command, rich_help_panel=MORE)
def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(_SHELLS)}.")]) -> None:
    """Print the script with which a shell completes commands and names.

    In bash: source <(trainctl completion bash)
    """
    check(one_of("shell", shell, _SHELLS))
    print(_TYPER.get_completion_script(prog_name=PROGRAM, complete_var=_VARIABLE, shell=shell))


def prepare() -> None:
    """Prepare typer for a question of the shell's script, if this is one."""
    if _VARIABLE in os.environ:
        _TYPER.completion_init()


def complete_recipes() -> list[str]:
    """Return the names of recipes."""
    return recipe_names()


def complete_jobs(ctx: typer.Context) -> list[str]:
    """Return the names of the jobs on the cluster; none if it does not answer: a shell has no place for an error."""
    from training_workloads.cluster.failures import ClusterError
    from training_workloads.cluster.jobs import list_jobs
    from training_workloads.cluster.kubeconfig import connect

    try:
        with connect(ctx.params.get("context"), ctx.params.get("namespace")) as cluster:
            return [job.name for job in list_jobs(cluster)]
    except (ClusterError, InputError):
        return []
