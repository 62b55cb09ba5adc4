"""The help, as a terminal shows it."""

import pytest

from tests.workloads.cli.conftest import Command


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_has_the_jobs_first(option: str, command: Command) -> None:
    code, output, errors = command(option)
    headings = [line for line in output.splitlines() if line.endswith(":") and line[0] != " "]
    assert (code, errors) == (0, "")
    assert headings == ["Options:", "Jobs on this machine:", "Jobs on a cluster:", "More:"]


@pytest.mark.parametrize("columns", [50, 80, 200])
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


def test_says_how_a_command_is_used(command: Command) -> None:
    assert command("scale", "-h").out.splitlines()[0] == "Usage: trainctl scale [OPTIONS] NAME WORKERS"
    assert command("render", "-h").out.splitlines()[0] == (
        "Usage: trainctl render [OPTIONS] [RECIPE]... [-- ARGUMENT...]"
    )


def test_the_version_is_that_of_the_package(command: Command) -> None:
    code, output, _ = command("--version")
    assert code == 0
    assert output.splitlines()[0] == "trainctl 0.1.0"
    assert output.splitlines()[2].startswith("for Kubernetes 1.3")
