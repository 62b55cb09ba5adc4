"""The group `cluster`: whether a configuration can be deployed, what that changes, what runs, and the cluster's end."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from training_workloads.aws.session import DATA_STACK
from training_workloads.cli.commands import Group
from training_workloads.cli.parameters import context_option, json_option
from training_workloads.cli.program import failures_as_lines
from training_workloads.exit_codes import CHECK_FAILED, CLUSTER_FAILED
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem

if TYPE_CHECKING:
    from training_cluster.account.account_requests import Account
    from training_cluster.account.teardown import Teardown

__all__ = ["app", "destroy", "plan", "preflight", "status"]

app = Group("cluster", help="Check an account before a deployment, plan it, see what runs, and destroy the cluster.")

_CLUSTER_STACK: Final = "TrainingClusterStack"

_stack_option = click.option("--stack", default=_CLUSTER_STACK, help="Stack of the cluster.")
_data_stack_option = click.option("--data-stack", default=DATA_STACK, help="Stack with the bucket and the images.")

_override_option = click.option(
    "-c",
    "override",
    metavar="KEY=VALUE",
    multiple=True,
    help="Override a value, as for 'cdk deploy'; may be repeated.",
)


@app.command()
@click.option("--config", metavar="FILE", default="cluster.yaml", help="The configuration.")
@_override_option
@_stack_option
@_data_stack_option
@context_option
@json_option
def preflight(
    config: str, override: tuple[str, ...], stack: str, data_stack: str, context: str | None, as_json: bool
) -> None:
    """Check whether the account can run what cluster.yaml describes; change nothing.

    The exit code is 0 if nothing is missing. A check that your role may not make is skipped, with the IAM action to
    allow.
    """
    # Here, because the AWS CDK takes seconds to import.
    from training_cluster.account.account_requests import Account
    from training_cluster.account.check_result import FAILED
    from training_cluster.account.checked_deployment import Deployment
    from training_cluster.account.preflight import run_checks
    from training_cluster.cli.account_output import print_checks
    from training_cluster.config import load_config
    from training_workloads.cli.cluster_output import print_json

    overrides = _overrides(override)
    # As for 'cdk deploy', which has no other option for it.
    loaded = load_config(overrides.pop("config", config), overrides)
    deployment = Deployment(
        config=loaded, account=Account(), cluster_stack=stack, data_stack=data_stack, context=context
    )
    with failures_as_lines():
        results = run_checks(deployment)
    if as_json:
        print_json(results)
    else:
        print_checks(results)
    if any(each.state == FAILED for each in results):
        raise click.exceptions.Exit(CHECK_FAILED)


@app.command()
@click.option(
    "--app",
    "command",
    metavar="COMMAND",
    help="Command of the app, or the folder of 'cdk synth'. Default: as cdk.json says.",
)
@_override_option
@context_option
@json_option
def plan(command: str | None, override: tuple[str, ...], context: str | None, as_json: bool) -> None:
    """Compare the app of this folder with the deployed stacks: what is replaced, lost or rejected; change nothing.

    The exit code is 0 if nothing is lost and AWS rejects nothing, else 1. It runs the app as 'cdk' does, and reads the
    deployed templates, the node groups, the exports of Lustre and the jobs.
    """
    from training_cluster.account.account_requests import Account
    from training_cluster.changes.assembly import app_stacks
    from training_cluster.changes.cluster_plan import plan_deployment
    from training_cluster.cli.plan_output import plan_as_data, print_plan
    from training_workloads.cli.cluster_output import print_json

    account = Account()
    with failures_as_lines():
        stacks = app_stacks(Path(), _overrides(override), account, command)
        found = plan_deployment(account, stacks, context)
    if as_json:
        print_json(plan_as_data(found))
    else:
        print_plan(found)
    if not found.is_safe:
        raise click.exceptions.Exit(CHECK_FAILED)


@app.command()
@_stack_option
@_data_stack_option
@context_option
@json_option
def status(stack: str, data_stack: str, context: str | None, as_json: bool) -> None:
    """Show stacks, nodes, GPUs and EFA devices, the platform, file systems, jobs and the price by the hour."""
    from training_cluster.account.account_requests import Account
    from training_cluster.account.cluster_report import report_cluster
    from training_cluster.cli.account_output import print_cluster_report
    from training_workloads.cli.cluster_output import print_json

    with failures_as_lines():
        report = report_cluster(Account(), stack, data_stack, context)
    if as_json:
        print_json(report)
    else:
        print_cluster_report(report)


@app.command()
@_stack_option
@_data_stack_option
@context_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def destroy(stack: str, data_stack: str, context: str | None, yes: bool) -> None:
    """Delete the cluster's stack, unless jobs run or results are not in the bucket yet.

    The data stack stays, and resources that the cluster's stack retains.
    """
    from training_cluster.account.account_requests import Account
    from training_cluster.account.teardown import plan_teardown
    from training_cluster.cli.account_output import print_teardown

    account = Account()
    with failures_as_lines():
        plan = plan_teardown(account, stack, data_stack, context)
        print_teardown(plan, account.region)
        if plan.blockers:
            raise click.exceptions.Exit(CHECK_FAILED)
        if not yes and not plan.has_begun:
            click.confirm(f"Destroy {stack}?", abort=True, err=True)
        _delete(account, plan)
    say(f"{stack} is deleted")


def _overrides(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := [key for key, sign, _ in pairs if not (sign and key)]:
        raise InputError(*(Problem(path=("override",), given=each, fix="give <key>=<value>") for each in wrong))
    return {key: value for key, _, value in pairs}


def _delete(account: "Account", plan: "Teardown") -> None:
    from training_cluster.account.node_entries import delete_entry
    from training_cluster.account.stack_deletion import DeletionError, destroy_stack

    name = plan.stack.name
    try:
        destroy_stack(account, plan.stack, lambda line: say(line, error=True))
    except DeletionError as error:
        say(f"error: {name} is not deleted completely: {error}; fix it, and repeat", error=True)
        raise click.exceptions.Exit(CLUSTER_FAILED) from error
    except KeyboardInterrupt:
        say("the deletion continues; 'trainctl cluster destroy' follows it again", error=True)
        raise
    for entry in plan.entries:
        say(delete_entry(account, entry), error=True)
