"""The command `test-resume`: kill a program again and again, and say whether it resumes exactly."""

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import click

from training_workloads.cli.commands import Command
from training_workloads.cli.completion import complete_recipes
from training_workloads.cli.parameters import WHOLE_NUMBER, environment_option, json_option
from training_workloads.cli.program import output_folder
from training_workloads.exit_codes import CHECK_FAILED
from training_workloads.recipes.scripts import is_script
from training_workloads.resume_test.lives import Program
from training_workloads.resume_test.resume_test import Report
from training_workloads.resume_test.resume_test import test_resume as run_test
from training_workloads.resume_test.verdict import Judged, Verdict
from training_workloads.resume_test.working_copy import fits_into_copies, is_of_a_test, mark
from training_workloads.run_local.runner import check_run, default_environment, planned
from training_workloads.terminal import print_raw, say
from training_workloads.validation import InputError, Problem, Problems, at_least, check, enforce

__all__ = ["test_resume"]

_REPORT = "report.json"
_NO_DATA = "no data"


@click.command("test-resume", cls=Command)
@click.argument(
    "file",
    metavar="PROGRAM",
    help="A Python script in the current folder, or a job as 'run-local' takes it.",
    shell_complete=complete_recipes,
)
@click.argument("argument", nargs=-1, help="Arguments of a script, behind a lone --.")
@click.option("--ranks", type=WHOLE_NUMBER, default=2, show_default=True, help="Number of ranks.")
@click.option("--kills", type=WHOLE_NUMBER, default=10, show_default=True, help="Number of disturbances.")
@click.option("--seed", type=WHOLE_NUMBER, default=0, show_default=True, help="Seed of their kinds and moments.")
@click.option(
    "--volumes",
    metavar="DIRECTORY",
    help="Of a job: the folder of its data, which each run gets a copy of. Default: none.",
)
@click.option("--outdir", metavar="DIRECTORY", default="resume-test", help="Folder of the runs and of report.json.")
@environment_option
@json_option
def test_resume(
    file: str,
    argument: tuple[str, ...],
    ranks: int,
    kills: int,
    seed: int,
    volumes: str | None,
    outdir: str,
    environment: str | None,
    as_json: bool,
) -> None:
    """Kill a program again and again, and compare how it ends with an undisturbed run."""
    check(at_least("kills", kills, 1))
    results = output_folder(outdir).resolve()
    enforce(results, [_is_ours])
    program, python = _program(file, argument, ranks, results, volumes, environment)
    enforce(program.folder, [fits_into_copies])
    report = run_test(program, python, kills, seed, lambda line: say(line, error=True))
    (results / _REPORT).write_text(f"{json.dumps(report.to_json(), indent=2)}\n")
    if as_json:
        print_raw(json.dumps(report.to_json(), indent=2))
    else:
        _print(report)
    if report.verdict != Verdict.EXACT:
        raise click.exceptions.Exit(CHECK_FAILED)


def _program(
    file: str, arguments: tuple[str, ...], ranks: int, results: Path, volumes: str | None, environment: str | None
) -> tuple[Program, str]:
    """Return the program, and the Python that reads its files.

    Raises:
        InputError: There is no such program, or its environment lacks something.
    """
    here, script = Path.cwd(), is_script(file)
    if script and not Path(os.path.abspath(file)).is_relative_to(here):
        fix = "go to its folder: each run gets a copy of the current one"
        raise InputError(Problem(path=("file",), given=file, allowed="it is not in the current folder", fix=fix))
    if script and volumes:
        fix = "omit it; a script has a copy of the current folder"
        raise InputError(Problem(path=("volumes",), given=volumes, allowed="only a job has volumes", fix=fix))
    with tempfile.TemporaryDirectory(prefix="plan-") as scratch:
        run, _, _ = planned(file, Path(scratch), Path(scratch), ranks, arguments)
        venv = (Path(environment) if environment else default_environment(run.launcher)).absolute()
        # Before anything starts: what it finds is for this command to say.
        check_run(run, Path(scratch), venv)
    if results.exists():
        shutil.rmtree(results)
    results.mkdir(parents=True)
    mark(results)
    folder = here if script else Path(volumes).absolute() if volumes else results / _NO_DATA
    if not script:
        folder.mkdir(exist_ok=True)
    program = Program(
        target=os.path.relpath(file) if script else file,
        is_script=script,
        folder=folder,
        results=results,
        ranks=ranks,
        environment=venv,
        stop_signal=signal.SIGUSR1 if run.launcher == "mpirun" else signal.SIGTERM,
        arguments=arguments,
    )
    return program, str(venv / "bin" / "python")


def _is_ours(results: Path) -> Problems:
    """Reject a folder with other files than those of an earlier test, and the current one: a test removes it."""
    if Path.cwd().is_relative_to(results):
        allowed = "the current folder is in it, and a test makes its folder anew"
        yield Problem(path=("outdir",), given=str(results), allowed=allowed, fix="give another folder")
    elif results.exists() and not is_of_a_test(results):
        allowed = "no test has written it, and a test makes its folder anew"
        yield Problem(path=("outdir",), given=str(results), allowed=allowed, fix="give another folder")


def _print(report: Report) -> None:
    took = f"{report.took_effect}{f' of {report.kills}' * (report.took_effect < report.kills)}"
    losses = sum(each.is_loss for each in report.undisturbed.starts[-1].losses)
    compared = max(judged.compared for _, judged in report.lives.values())
    say(
        f"undisturbed: {report.undisturbed.seconds:.0f} s, {_counted(losses, 'printed loss', 'es')}, "
        f"{_counted(compared, 'array')} in its files",
        f"disturbances: {took} in {_counted(len(report.lives), 'run')}, seed {report.seed}",
    )
    for name, (life, judged) in report.lives.items():
        say(f"{name}: {judged.verdict}, {_counted(len(life.starts), 'start')}{_details(judged)}")
    say(*(f"why: {why}" for why in report.reasons), *(f"note: {note}" for note in report.notes))
    say(f"{report.program.target}: {report.verdict}; the runs are in {report.program.results}")


def _counted(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{plural * (number != 1)}"


def _details(judged: Judged) -> str:
    parts = []
    if any(judged.repeated):
        parts.append(f"printed again: {_counted(sum(judged.repeated), 'loss', 'es')}")
    if judged.verdict in (Verdict.DIFFERENT, Verdict.AGAIN) and judged.loss:
        place, one, other = judged.loss
        parts.append(f"{place} is {other}, not {one}")
    if judged.arrays:
        name, size = max(judged.arrays.items(), key=lambda each: each[1] or 0.0)
        largest = f", by up to {size:.2g} in {name}" if size else f", such as {name}"
        parts.append(f"{len(judged.arrays)} of {judged.compared} arrays differ{largest}")
    return "".join(f"; {part}" for part in parts)
