"""The command `plan`: how fast and how expensive a training run will be, before it runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from training_workloads.catalog.instances import INSTANCE_TYPES
from training_workloads.catalog.offers import is_offered
from training_workloads.cli.commands import Command
from training_workloads.cli.parameters import NUMBER, WHOLE_NUMBER, WholeNumber, whole_number
from training_workloads.cli.program import OUTPUT_ERRORS
from training_workloads.planning.plan_report import compared_text, plan_text, sweep_chart, sweep_text, values
from training_workloads.planning.plan_search import SWEPT_NODES, Wish, best, possible_setups, searched_nodes
from training_workloads.planning.prediction import Prediction, predict
from training_workloads.planning.training_setup import TrainingSetup, types_with_rates
from training_workloads.terminal import print_raw, say
from training_workloads.validation import MISSING, InputError, Problem, known_names

__all__ = ["plan"]

_YES_AND_NO = {"0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}
_NUMBERS = ("nodes", "batch_size", "gradient_clusters")


@click.command(cls=Command)
@click.option("--model", default="resnet50", help="What is trained: resnet50, mask-rcnn.")
@click.option("--instance-type", help="EC2 type of the nodes. A search takes all types if it is omitted.")
@click.option("--nodes", type=WHOLE_NUMBER, help="Nodes, with all their GPUs. Default: 1.")
@click.option("--batch-size", type=WholeNumber(256), help="Images on each GPU. Default: that of the published rate.")
@click.option("--precision", default="mixed", help="mixed or float32.")
@click.option("--compression", default="none", help="fp16 sends gradients in float16; none.")
@click.option("--efa/--no-efa", default=None, help="Whether EFA is used. Default: if the type has it.")
@click.option(
    "--storage", default="lustre", help="Where images are read: lustre, or memory (as --cache records of the job)."
)
@click.option(
    "--gradient-clusters",
    type=WHOLE_NUMBER,
    help="XLA's clusters with gradients. Default: those counted for the model.",
)
@click.option("--sweep", is_flag=True, help="A table for 1 to 512 nodes.")
@click.option("--chart", metavar="FILE", help="Write the sweep to a .svg or .png.")
@click.option("--what-if", metavar="OPTION=VALUE", multiple=True, help="Compare with another value, such as efa=0.")
@click.option("--target-epoch-minutes", type=NUMBER, help="Search types and nodes: longest epoch.")
@click.option("--budget", type=NUMBER, help="Search types and nodes: most dollars to the accuracy.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    instance_type: str | None,
    nodes: int | None,
    sweep: bool,
    chart: str | None,
    what_if: tuple[str, ...],
    target_epoch_minutes: float | None,
    budget: float | None,
    as_json: bool,
    **setup: Any,
) -> None:
    """Predict the speed, the price and the limit of a training run, from published figures; nothing is measured."""
    modes = {
        "target_epoch_minutes": target_epoch_minutes,
        "budget": budget,
        "sweep": sweep or None,
        "what_if": " ".join(what_if) if what_if else None,
    }
    searches = target_epoch_minutes is not None or budget is not None
    _reject_contradictions(modes, nodes, chart)
    types = _types(instance_type, setup, searches=searches)
    counts = searched_nodes() if searches else SWEPT_NODES if sweep else [1 if nodes is None else nodes]
    setups = possible_setups(types, counts, **setup)
    if searches:
        wish = Wish(target_epoch_minutes=target_epoch_minutes, budget=budget)
        _print([best(setups, wish, type_is_named=instance_type is not None)], as_json=as_json)
    elif sweep:
        _print([predict(each) for each in setups], as_json=as_json, chart=chart, table=True)
    else:
        changed = [_changed(setups[0], what_if)] if what_if else []
        for other in changed:
            if other.instance_type != instance_type:
                _warn_of_a_type_that_ec2_does_not_offer("--what-if", other.instance_type)
        _print([predict(each) for each in (*setups, *changed)], as_json=as_json)


def _warn_of_a_type_that_ec2_does_not_offer(option: str, instance_type: str) -> None:
    # A type that the catalog lacks is an error.
    for problem in is_offered(instance_type) if instance_type in INSTANCE_TYPES else ():
        say(f"warning: {problem.text(option)}", error=True)


def _types(instance_type: str | None, setup: Mapping[str, Any], *, searches: bool) -> list[str]:
    """Return the types of the nodes: the given one, or all with published rates for a search."""
    if instance_type is not None:
        _warn_of_a_type_that_ec2_does_not_offer("--instance-type", instance_type)
        return [instance_type]
    types = types_with_rates(setup["model"], setup["precision"])
    if not searches:
        raise InputError(Problem(path=("instance_type",), given=MISSING, fix=f"give one of {', '.join(types)}"))
    return types


def _print(found: Sequence[Prediction], *, as_json: bool, chart: str | None = None, table: bool = False) -> None:
    if chart is not None:
        _write(chart, sweep_chart(found, chart.rpartition(".")[2]))
    if as_json:
        each = [values(one) for one in found]
        print_raw(json.dumps(each if table or len(each) > 1 else each[0], indent=2))
    elif table:
        say(*sweep_text(found).split("\n"))
    else:
        text = compared_text(*found) if len(found) > 1 else plan_text(found[0])
        say(*text.split("\n"))


def _write(chart: str, picture: bytes) -> None:
    try:
        Path(chart).write_bytes(picture)
    except OSError as error:
        # A full disk is no mistake in the option: the program has a separate exit code for it.
        if error.errno in OUTPUT_ERRORS:
            raise
        fix = "give another file, in a folder that exists and that you can write to"
        raise InputError(Problem(path=("chart",), given=chart, allowed=str(error.strerror), fix=fix)) from None


def _reject_contradictions(modes: Mapping[str, Any], nodes: int | None, chart: str | None) -> None:
    given = [name for name, value in modes.items() if value is not None]
    if len(given) > 1 and set(given) != {"target_epoch_minutes", "budget"}:
        allowed = f"it cannot be combined with --{given[0].replace('_', '-')}"
        raise InputError(Problem(path=(given[-1],), given=modes[given[-1]], allowed=allowed, fix="omit one of them"))
    if nodes is not None and given and modes["what_if"] is None:
        allowed = f"--{given[0].replace('_', '-')} compares 1 to 512 nodes"
        raise InputError(Problem(path=("nodes",), given=nodes, allowed=allowed, fix="omit one of them"))
    if chart is not None and (not modes["sweep"] or not chart.endswith((".svg", ".png"))):
        fix = "give a file that ends in .svg or .png, with --sweep"
        raise InputError(Problem(path=("chart",), given=chart, fix=fix))


def _changed(setup: TrainingSetup, changes: Sequence[str]) -> TrainingSetup:
    """Return a setup with other values."""
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        name = key.strip().replace("-", "_")
        if not equals or name not in setup.__dataclass_fields__:
            keys = ", ".join(setup.__dataclass_fields__)
            fix = (
                f"give OPTION=VALUE with one of {keys}" if not equals else known_names(name, setup.__dataclass_fields__)
            )
            raise InputError(Problem(path=("what_if",), given=change, fix=fix))
        if name in values:
            allowed = f"another '--what-if' is '{texts[name]}'"
            raise InputError(Problem(path=("what_if",), given=change, allowed=allowed, fix="omit one of them"))
        values[name], texts[name] = _typed(name, text.strip(), change), change
    try:
        return replace(setup, **values)
    except InputError as error:
        # The other options are possible: the plan without the changes was made from them.
        every = " ".join(changes)
        found = [replace(each, path=("what_if",), given=texts.get(str(each.path[0]), every)) for each in error.problems]
        raise InputError(*found) from None


def _typed(name: str, text: str, change: str) -> Any:
    if name == "efa":
        if text.lower() not in _YES_AND_NO:
            raise InputError(Problem(path=("what_if",), given=change, fix="give efa=0 or efa=1"))
        return _YES_AND_NO[text.lower()]
    if name not in _NUMBERS:
        return text
    try:
        return whole_number("what_if", text)
    except InputError as error:
        raise InputError(*(replace(each, given=change) for each in error.problems)) from None
