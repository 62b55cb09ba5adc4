"""The commands of the program: its own, and the groups that packages add by an entry point; imported on use."""

import sys
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from training_workloads.cli.commands import Command, Group
from training_workloads.validation import InputError, Problem

# Here and below, because the module takes as long to import as click does.
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

__all__ = ["COMMANDS", "TopLevel"]

# Each is a `click.Command`, usually a group, that a package adds in its pyproject.toml.
_ENTRY_POINTS: Final = "trainctl.commands"

_MORE: Final = "More"

#: The commands of this package under their headings: where each is, and its line in the help, which thus imports none.
COMMANDS: Final = {
    "Jobs on this machine": {
        "init": (
            "init_command:init",
            "Write a project of your own: a training script that resumes, its job, its cluster.",
        ),
        "lint": ("lint_command:lint", "Check manifests of MPIJobs and volumes, of this project or any other."),
        "render": ("local_commands:render", "Render recipes and scripts into manifests."),
        "run-local": ("local_commands:run_local", "Run a job or a Python script on this machine, on the CPU."),
        "test-resume": ("test_resume_command:test_resume", "Kill a program again and again, and compare how it ends."),
        "plan": ("plan_commands:plan", "Predict the speed, the price and the limit of a training run."),
        "offers": ("offers_command:offers", "Show the instance types with GPUs."),
    },
    "Jobs on a cluster": {
        "submit": ("cluster_commands:submit", "Check manifests, and create the objects in them."),
        "list": ("cluster_commands:list_all", "Show the jobs, the newest last."),
        "status": ("cluster_commands:status", "Show the state of a job, its reason, and its pods."),
        "logs": ("cluster_commands:logs", "Print the launcher's log; with -f, exit as the job does."),
        "wait": ("cluster_commands:wait", "Wait for the end of a job, and exit as it does."),
        "scale": ("cluster_commands:scale", "Change the number of workers of an elastic job that runs."),
        "cancel": ("cluster_commands:cancel", "Delete jobs with their pods, NetworkPolicies and stores."),
    },
    _MORE: {
        "completion": ("completion:completion", "Print the script with which a shell completes commands and names."),
        "bench": ("bench_commands:app", "Measure jobs over types, nodes and settings."),
        "image": ("image_commands:app", "Build and push the image of the jobs."),
        "platform": ("platform_commands:app", "Render and size what jobs need in a cluster."),
        "sagemaker": ("sagemaker_commands:app", "Run recipes on SageMaker instead of a cluster."),
    },
}


class TopLevel(Group):
    """The commands of this package and of others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands and of the groups."""
        return [*(name for commands in COMMANDS.values() for name in commands), *_added()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command or a group; `None` if there is none with this name."""
        for commands in COMMANDS.values():
            if cmd_name in commands:
                module, _, name = commands[cmd_name][0].partition(":")
                command: click.Command = getattr(import_module(f"training_workloads.cli.{module}"), name)
                return command
        found = _added().get(cmd_name)
        return _load(found) if found else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        for heading, commands in COMMANDS.items():
            rows = [(name, line) for name, (_, line) in commands.items()]
            if heading == _MORE:
                rows += [(name, _load(each).get_short_help_str(formatter.width)) for name, each in _added().items()]
            with formatter.section(heading):
                formatter.write_dl(rows)


def _entry_points() -> "EntryPoints":
    from importlib.metadata import entry_points

    return entry_points(group=_ENTRY_POINTS)


def _added() -> dict[str, "EntryPoint"]:
    """Return the groups of other packages by name; of two with one name the first."""
    own = {name for commands in COMMANDS.values() for name in commands}
    found = {each.name: each for each in reversed(_entry_points()) if each.name not in own}
    return dict(sorted(found.items()))


@cache
def _load(found: "EntryPoint") -> click.Command:
    """Return the group of an entry point; if it cannot be imported, a command that says so."""
    package = found.dist.name if found.dist else found.value
    try:
        # What a package prints at its import would be a candidate of the shell's completion.
        with redirect_stdout(sys.stderr):
            group = found.load()
    # A program that ends by itself raises SystemExit, such as one that parses the command line.
    except (Exception, SystemExit) as error:
        if package == "cdk-training-cluster":
            raise
        # Here, because only this needs it.
        from training_workloads.recipes.user_code import described

        return _failing(found.name, f"{found.value} raises {described(error)}", f"fix or uninstall {package}")
    if not isinstance(group, click.Command):
        return _failing(found.name, f"{found.value} is not a click.Group", f"fix or uninstall {package}")
    return group


def _failing(name: str, why: str, fix: str) -> click.Command:
    def fail() -> None:
        raise InputError(Problem(path=("COMMAND",), given=name, allowed=why, fix=fix))

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    return Command(name, callback=fail, help=f"Cannot be imported: {why}.", context_settings=anything)
