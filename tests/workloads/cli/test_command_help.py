"""The help, as a terminal shows it."""

from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any

import pytest

from tests.workloads.cli.conftest import Command


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_begins_with_the_jobs(option: str, command: Command) -> None:
    code, output, errors = command(option)
    headings = [line for line in output.splitlines() if line.endswith(":") and line[0] != " "]
    assert (code, errors) == (0, "")
    assert headings == ["Jobs on this machine:", "Jobs on a cluster:", "More:", "Options:"]


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("arguments", [["-h"], ["render", "-h"], ["platform", "render", "-h"]])
def test_the_help_fits_the_terminal(
    columns: int, arguments: list[str], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    _, output, _ = command(*arguments)
    assert max(map(len, output.splitlines())) <= min(columns, 100)
    assert "…  " not in output


def test_without_a_command_the_help_is_shown(command: Command) -> None:
    code, output, errors = command()
    assert (code, output) == (2, "")
    assert errors == command("--help").out


def test_a_group_has_no_options_for_completion(command: Command) -> None:
    assert command("platform", "-h").out.partition("Options:\n")[2] == "  -h, --help  Show this message and exit.\n"


def test_says_how_a_command_is_used(command: Command) -> None:
    assert command("scale", "-h").out.splitlines()[0] == "Usage: trainctl scale [OPTIONS] NAME WORKERS"
    assert command("render", "-h").out.splitlines()[0] == "Usage: trainctl render [OPTIONS] [RECIPE]..."


def test_the_version_is_that_of_the_package(command: Command) -> None:
    code, output, _ = command("--version")
    assert code == 0
    assert output.splitlines()[0] == "trainctl 0.1.0"
    assert output.splitlines()[2].startswith("for Kubernetes 1.3")


def test_a_group_that_cannot_be_imported_is_named_where_it_is_used(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BrokenGroup(EntryPoint):
        def load(self) -> Any:
            raise ImportError("no module named 'x'")

    broken = BrokenGroup("theirs", "their_package:app", "trainctl.commands")
    known = EntryPoints([*entry_points(group="trainctl.commands"), broken])
    monkeypatch.setattr("training_workloads.cli.command_help.entry_points", known.select)
    message = "their_package:app cannot be imported (no module named 'x'); fix or uninstall their_package:app"
    assert command("theirs", "-x", "y") == (2, "", f"error: 'COMMAND' is 'theirs', but {message}\n")
    assert "theirs Cannot be imported." in " ".join(command("--help").out.split())
