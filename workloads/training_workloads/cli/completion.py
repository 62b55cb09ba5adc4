"""Completion in a shell: the command that prints the script, and the names of recipes and jobs."""

import re
from collections.abc import Iterable
from threading import Thread
from typing import Any, Final

import click

from training_workloads.cli.commands import Command
from training_workloads.terminal import print_raw
from training_workloads.validation import InputError, check, one_of

__all__ = ["COMPLETION_VARIABLE", "complete_jobs", "complete_recipes", "completion"]

#: With this variable the shell's script asks the program for the next word.
COMPLETION_VARIABLE: Final = "_TRAINCTL_COMPLETE"

_SHELLS: Final = ("bash", "zsh", "fish")

# A shell waits for the answer: an unreachable cluster has no names.
_PATIENCE_SECONDS = 2


@click.command(cls=Command)
@click.argument("shell", help=f"One of {', '.join(_SHELLS)}.")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands and names.

    In bash: source <(trainctl completion bash)
    """
    from click.shell_completion import get_completion_class

    check(one_of("shell", shell, _SHELLS))
    program = ctx.find_root()
    kind = get_completion_class(shell)
    assert kind is not None
    assert program.info_name is not None
    print_raw(kind(program.command, {}, program.info_name, COMPLETION_VARIABLE).source())


def complete_recipes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of recipes that begin with what was typed."""
    from training_workloads.recipes import recipe_names

    return _words(recipe_names(), incomplete)


def complete_jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the jobs on the cluster that begin with what was typed; none if it does not answer soon."""
    names: list[str] = []
    # A thread, because nothing else ends a name server or a program for credentials that does not answer.
    asking = Thread(target=lambda: names.extend(_job_names(ctx.params)), daemon=True)
    asking.start()
    asking.join(_PATIENCE_SECONDS)
    return _words(names, incomplete)


def _words(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin with what was typed, without those that a shell would run or a terminal obey.

    bash puts a candidate on the line as it is: `digits; reboot` would be two commands.
    """
    return [name for name in names if name.startswith(incomplete) and re.fullmatch(r"[A-Za-z0-9._-]+", name)]


def _job_names(options: dict[str, Any]) -> list[str]:
    from training_workloads.cluster.failures import ClusterError
    from training_workloads.cluster.jobs import list_jobs
    from training_workloads.cluster.kubeconfig import connect

    try:
        with connect(options.get("context"), options.get("namespace")) as cluster:
            return [job.name for job in list_jobs(cluster)]
    except (ClusterError, InputError):
        return []
