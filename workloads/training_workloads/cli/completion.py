"""Completion in a shell: the command that prints the script, and the names of recipes and jobs."""

from importlib import import_module
from threading import Thread
from typing import Annotated, Any, Final

import typer

from training_workloads.cli.command_classes import Command
from training_workloads.cli.help_text import MORE
from training_workloads.cli.program import COMPLETION_VARIABLE, PROGRAM, app
from training_workloads.recipes import recipe_names
from training_workloads.validation import InputError, check, one_of

__all__ = ["complete_jobs", "complete_recipes", "completion"]

# The module offers what it imports from private ones, in every release; mypy does not know that.
_TYPER: Any = import_module("typer.completion")

_SHELLS: Final = ("bash", "zsh", "fish")

# A shell waits for the answer: an unreachable cluster has no names.
_PATIENCE_SECONDS = 2


@app.command(cls=Command, rich_help_panel=MORE)
def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(_SHELLS)}.")]) -> None:
    """Print the script with which a shell completes commands and names.

    In bash: source <(trainctl completion bash)
    """
    check(one_of("shell", shell, _SHELLS))
    print(_TYPER.get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=shell))


def complete_recipes() -> list[str]:
    """Return the names of recipes."""
    return recipe_names()


def complete_jobs(ctx: typer.Context) -> list[str]:
    """Return the names of the jobs on the cluster; none if it does not answer soon."""
    names: list[str] = []
    # A thread, because nothing else ends a name server or a program for credentials that does not answer.
    asking = Thread(target=lambda: names.extend(_job_names(ctx.params)), daemon=True)
    asking.start()
    asking.join(_PATIENCE_SECONDS)
    return names


def _job_names(options: dict[str, Any]) -> list[str]:
    from training_workloads.cluster.failures import ClusterError
    from training_workloads.cluster.jobs import list_jobs
    from training_workloads.cluster.kubeconfig import connect

    try:
        with connect(options.get("context"), options.get("namespace")) as cluster:
            return [job.name for job in list_jobs(cluster)]
    except (ClusterError, InputError):
        return []
