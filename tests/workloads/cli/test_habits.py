"""Commands and options of other tools: each is answered with what to type here."""

import re
from pathlib import Path

import click
import pytest

from tests.workloads.cli.conftest import Command
from training_workloads.cli.habits import COMMANDS, DESTRUCTIVE, OPTIONS
from training_workloads.cli.program import program


def _group(name: str) -> click.Group:
    group = program.get_command(click.Context(program), name) if name else program
    assert isinstance(group, click.Group)
    return group


def _named(answer: str) -> list[list[str]]:
    """Return the commands of trainctl in an answer."""
    return [found.split() for found in re.findall(r"'trainctl ([^'-][^'&]*)", answer)]


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, names in COMMANDS.items() for name in names])
def test_an_answer_to_a_command_is_a_command_that_exists(group: str, name: str, command: Command) -> None:
    assert name not in _group(group).list_commands(click.Context(_group(group)))
    where = f"trainctl {group}".strip()
    assert command(*filter(None, [group, name])) == (
        *(2, ""),
        f"error: '{name}' is not a command of {where}; {COMMANDS[group][name]}\n",
    )
    for first, *rest in _named(COMMANDS[group][name]):
        found = program.get_command(click.Context(program), first)
        assert found is not None or first == "COMMAND", first
        if isinstance(found, click.Group):
            assert found.get_command(click.Context(found), rest[0]) is not None, rest


def _parameters() -> set[str | None]:
    """Return the names of the parameters of every command."""
    found: set[str | None] = set()
    groups: list[click.Group] = [program]
    while groups:
        group = groups.pop()
        for name in group.list_commands(click.Context(group)):
            each = group.get_command(click.Context(group), name)
            if isinstance(each, click.Group):
                groups.append(each)
            elif each:
                found |= {parameter.name for parameter in each.params}
    return found


def test_an_answer_to_an_option_is_a_parameter_of_some_command() -> None:
    known = _parameters()
    named = {name for habit in OPTIONS.values() for name in habit.parameters}
    assert named <= known, named - known
    assert all(habit.parameters or habit.otherwise for habit in OPTIONS.values())


@pytest.mark.parametrize("name", ["cancell", "destory", "cance", "stopp", "test-resum"])
@pytest.mark.parametrize("group", ["", "cluster", "sagemaker"])
def test_no_answer_by_spelling_destroys(group: str, name: str, command: Command) -> None:
    meant = re.search(r"did you mean ([^?]*)", command(*filter(None, [group, name])).err)
    assert not meant or not DESTRUCTIVE & set(meant[1].split(" or "))


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("run-local -np 2 digits", "use '--ranks'"),
        ("run-local --nproc_per_node 2 digits", "use '--ranks'"),
        ("run-local --gpus 2 digits", "use '--ranks'"),
        (
            "run-local -m training.digits",
            "give a recipe, or the file of the module, such as training/digits/__main__.py",
        ),
        ("render digits --gpus 4", "use '--gpus-per-worker'"),
        ("render digits --nnodes 4", "use '--workers'"),
        ("render digits --time 02:00:00", "use '--deadline-seconds'"),
        ("render digits --env A=1", "variables are in the recipe: HorovodJobSpec(environment={'NAME': 'value'})"),
        ("render digits --set workers=3", "use the option of the field, such as '--workers 3'"),
        (
            "render digits --memory 64Gi",
            "it follows from the type and its GPUs: use '--instance-type' and '--gpus-per-worker'",
        ),
        (
            "render digits --epochs 3 --workers 2",
            "an argument of the program goes behind '--': 'trainctl render digits --workers 2 -- --epochs 3'",
        ),
        ("scale digits-spot --replicas 4", "give the value without it: 'trainctl scale digits-spot 4'"),
        ("submit -f x", "give the value without it: 'trainctl submit x'"),
        ("list -o json", "use '--json'"),
        ("lint a.yaml -o json", "use '--format'"),
        ("list --kubeconfig x", "set the variable KUBECONFIG"),
        ("logs x -c launcher", "use '--worker'"),
        ("logs x --since 5m", "use '--tail'"),
        ("status x -w", "use 'trainctl logs -f'"),
        ("wait x --for=condition=complete", "omit it: 'trainctl wait' waits for the end, and exits as the job does"),
        ("cancel --all", "use '--finished'"),
    ],
)
def test_an_option_of_another_tool_is_answered(arguments: str, answer: str, command: Command) -> None:
    code, output, errors = command(*arguments.split())
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.endswith(f"; {answer}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["render", "digits", "--nodes", "4"], "'--nodes' is 4, but digits does not have it; give 'workers'"),
        (
            ["render", "digits", "--outdir", "-"],
            "'--outdir' is '-', but each job is a separate file; give a folder, such as dist",
        ),
        (
            ["run-local", "python", "train.py"],
            "'JOB' is 'python', but ranks start Python themselves; give the script alone, its arguments behind '--': "
            "'trainctl run-local train.py -- --epochs 3'",
        ),
    ],
)
def test_a_habit_in_a_value_is_answered(arguments: list[str], message: str, command: Command) -> None:
    assert command(*arguments) == (2, "", f"error: {message}\n")


def test_a_folder_with_several_jobs_is_answered_with_its_files(tmp_path: Path, command: Command) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.k8s.yaml").write_text(f"kind: MPIJob\nmetadata: {{name: {name}}}\n")
    assert command("run-local", ".").err == (
        "error: 'JOB' is '.', but it contains 4 jobs, and one can run here; give one of a.k8s.yaml, b.k8s.yaml, "
        "c.k8s.yaml, …\n"
    )
