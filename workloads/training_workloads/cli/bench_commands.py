"""The group `bench`: measure a sweep of jobs, report it, and compare two measurements."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from training_workloads.catalog.offers import is_offered
from training_workloads.cli.cluster_output import note, note_waiting, progress, session
from training_workloads.cli.commands import Group
from training_workloads.cli.parameters import NUMBER, context_option, namespace_option
from training_workloads.exit_codes import CHECK_FAILED
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem

# The commands import what they run, because the kinds of jobs start Node.js.
if TYPE_CHECKING:
    from training_workloads.bench.cells import Cell
    from training_workloads.bench.results_folder import ResultsFolder
    from training_workloads.bench.sweep import Sweep

__all__ = ["app", "compare", "report", "run"]

app = Group("bench", help="Measure jobs over types, nodes and settings.")


@app.command()
@click.argument("sweep", help="Sweep file, such as examples/bench/digits_local.yaml.")
@click.option("--results", metavar="DIRECTORY", default="dist/bench", help="Results folder.")
@click.option("--list", "list_only", is_flag=True, help="Print the cells and what they cost; run none.")
@click.option(
    "--volumes", metavar="DIRECTORY", default=".", help="Of a local run: folder in place of the shared file system."
)
@click.option(
    "--environment",
    metavar="DIRECTORY",
    default=".venv-training",
    help="Of a local run: virtual environment of the jobs.",
)
@context_option
@namespace_option
def run(
    sweep: str,
    results: str,
    list_only: bool,
    volumes: str,
    environment: str,
    context: str | None,
    namespace: str | None,
) -> None:
    """Run the cells that a sweep has not measured yet, and write the report; the same command resumes."""
    from training_workloads.bench.cells import sweep_cells
    from training_workloads.bench.local_runner import LocalRunner, cores_per_rank, machine_name
    from training_workloads.bench.report import write_report
    from training_workloads.bench.results_folder import ResultsFolder
    from training_workloads.bench.sweep import load_sweep
    from training_workloads.bench.sweep_run import run_sweep, signals_end_in_order

    read = load_sweep(sweep)
    is_local = read.runner == "local"
    cores = cores_per_rank(read)
    cells = sweep_cells(read, machine_name(cores) if is_local else "")
    if not is_local:
        _warn_of_types_that_ec2_does_not_offer(cells)
    if list_only:
        _list(read, cells)
        return
    folder = ResultsFolder(path=Path(results))
    with folder.locked(), signals_end_in_order():
        if is_local:
            runner = LocalRunner(owner=folder.id, volumes=Path(volumes), environment=Path(environment), cores=cores)
            complete = run_sweep(read, cells, folder, runner, note)
        else:
            complete = _run_on_cluster(read, cells, folder, context, namespace)
        say(str(write_report(folder, note)))
    if not complete:
        raise click.exceptions.Exit(CHECK_FAILED)


def _warn_of_types_that_ec2_does_not_offer(cells: "list[Cell]") -> None:
    """Warn of retired types: the job of such a cell waits for a node until the sweep cancels it."""
    for instance_type in sorted({cell.spec.instance_type for cell in cells}):
        for problem in is_offered(instance_type, consequence="its jobs stay Pending"):
            say(f"warning: {problem}", error=True)


def _run_on_cluster(
    sweep: "Sweep", cells: "list[Cell]", folder: "ResultsFolder", context: str | None, namespace: str | None
) -> bool:
    from training_workloads.bench.cluster_runner import ClusterRunner
    from training_workloads.bench.sweep_run import run_sweep

    where = namespace or cells[0].spec.namespace
    with session(context, where) as cluster, progress(note_waiting()) as show:
        runner = ClusterRunner(cluster=cluster, owner=folder.id, note=note, progress=show)
        return run_sweep(sweep, cells, folder, runner, note)


def _list(sweep: "Sweep", cells: "list[Cell]") -> None:
    planned = [cell.usd_per_hour * (sweep.planned_hours or 0.0) * sweep.repeats for cell in cells]
    for cell, usd in zip(cells, planned, strict=True):
        ranks = "1 rank" if cell.ranks == 1 else f"{cell.ranks} ranks"
        cost = f"; {cell.nodes} x {cell.spec.instance_type}, ${usd:,.2f} as planned" if cell.nodes else ""
        say(f"{cell.name}  {cell.title}; {ranks}{cost}")
    if sweep.budget is not None:
        say(f"{len(cells) * sweep.repeats} jobs, ${sum(planned):,.2f} as planned; the budget is ${sweep.budget:,.2f}")


@app.command()
@click.argument("results", help="Results folder of a sweep.")
def report(results: str) -> None:
    """Write the report of a results folder again."""
    from training_workloads.bench.report import write_report
    from training_workloads.bench.results_folder import ResultsFolder

    say(str(write_report(ResultsFolder(path=Path(results)), note)))


@app.command()
@click.argument("before", help="Results folder of a sweep.")
@click.argument("after", help="One with the same recipe and axes.")
@click.option("--margin", type=NUMBER, default=0.05, help="Share by which a cell may be slower.")
def compare(before: str, after: str, margin: float) -> None:
    """Compare two results folders; exit with 1 if a cell of the first is slower in the second, or missing."""
    from training_workloads.bench.results_folder import ResultsFolder
    from training_workloads.bench.summary import compare as compared_cells

    if not 0 <= margin < 1:
        raise InputError(Problem(path=("margin",), given=margin, fix="give a share from 0 to 1, such as 0.05"))
    found = compared_cells(ResultsFolder(path=Path(before)), ResultsFolder(path=Path(after)))
    slower = [each for each in found if each.is_regression(margin)]
    for each in found:
        say(f"{'SLOWER  ' if each in slower else 'ok      '}{each}")
    if slower:
        say(f"error: {len(slower)} of {len(found)} cells are slower by more than {margin:.1%}", error=True)
        raise click.exceptions.Exit(CHECK_FAILED)
