"""What no command takes: one line with the value, and what to type."""

import pytest

from tests.workloads.cli.conftest import Command


@pytest.mark.parametrize("given", ["two", "", "1e3", "4 ", " 4", "4.0", "٤", "0x4", "1_000", "--", "nan"])
def test_an_invalid_number_is_shown_as_typed(given: str, command: Command) -> None:
    message = f"error: '--workers' is '{given}'; give a whole number, such as 2\n"
    assert command("render", "digits", f"--workers={given}") == (2, "", message)


@pytest.mark.parametrize("given", ["many", "", "nan", "inf", "1,5"])
def test_a_number_with_a_fraction_is_checked_too(given: str, command: Command) -> None:
    arguments = ("platform", "size-lustre", f"--images-per-second={given}", "--bytes-per-image=1")
    message = f"error: '--images-per-second' is '{given}'; give a number, such as 2500 or 0.5\n"
    assert command(*arguments) == (2, "", message)


def test_a_number_that_is_too_large_is_shown_as_typed(command: Command) -> None:
    arguments = ("platform", "size-lustre", "--images-per-second=1e999", "--bytes-per-image=1")
    message = "error: '--images-per-second' is '1e999'; give a number that is less than 1e308\n"
    assert command(*arguments) == (2, "", message)


def test_numbers_in_other_spellings(command: Command) -> None:
    plain = command("platform", "size-lustre", "--images-per-second=2500", "--bytes-per-image=110000")
    other = command("platform", "size-lustre", "--images-per-second=2.5e3", "--bytes-per-image=+110000")
    assert plain == other
    assert plain.code == 0


def test_a_huge_number_is_one_line(command: Command) -> None:
    code, _, errors = command("render", "digits", f"--workers={'9' * 5000}")
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.endswith("; give a number of at most 18 digits\n")
    assert len(errors) < 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lint"], "Missing argument 'FILE...'; 'trainctl lint --help' shows what to type"),
        (["scale", "digits"], "Missing argument 'WORKERS'; 'trainctl scale --help' shows what to type"),
        (
            ["platform", "size-lustre"],
            "Missing option '--images-per-second'; 'trainctl platform size-lustre --help' shows what to type",
        ),
        (
            ["render", "--workers"],
            "Option '--workers' requires an argument; 'trainctl render --help' shows what to type",
        ),
        (["render", "--gang=x"], "Option '--gang' does not take a value; 'trainctl render --help' shows what to type"),
        (["status", "a", "b"], "Got unexpected extra argument (b); 'trainctl status --help' shows what to type"),
        (["list", "a\nb"], r"Got unexpected extra argument (a\nb); 'trainctl list --help' shows what to type"),
        (["logs", "x", "--folow"], "'--folow' is not an option of 'trainctl logs'; did you mean --follow?"),
        (
            ["render", "digits", "--deadline-seconds", "10m"],
            "'--deadline-seconds' is '10m'; give a whole number, such as 604800",
        ),
        (
            ["run-local", "s3.py", "--epochs", "3"],
            "'--epochs' is not an option of 'trainctl run-local'; an argument of the program goes behind '--': "
            "'trainctl run-local s3.py -- --epochs 3'",
        ),
        (
            ["run-local", "s3.py", "--rank", "3"],
            "'--rank' is not an option of 'trainctl run-local'; did you mean --ranks? an argument of the program "
            "goes behind '--': 'trainctl run-local s3.py -- --rank 3'",
        ),
        (
            ["render", "--no-efa"],
            "'--no-efa' is not an option of 'trainctl render'; did you mean --efa-interfaces? an argument of the "
            "program goes behind '--': 'trainctl render JOB -- --no-efa'",
        ),
        (["list", "--x"], "'--x' is not an option of 'trainctl list'; 'trainctl list --help' lists the options"),
        (
            ["--x"],
            "'--x' is not an option of 'trainctl'; an option of a command goes behind it: 'trainctl COMMAND --x'",
        ),
        (["scale", "a", "-1"], "'-1' is not an option of 'trainctl scale'; 'trainctl scale --help' lists the options"),
    ],
)
def test_a_mistake_in_the_command_line_is_one_line(arguments: list[str], message: str, command: Command) -> None:
    assert command(*arguments) == (2, "", f"error: {message}\n")


def test_an_unknown_command_suggests_the_close_ones(command: Command) -> None:
    assert command("rander").err == "error: 'rander' is not a command of trainctl; did you mean render?\n"
    assert command("platform", "get").err == (
        "error: 'get' is not a command of trainctl platform; known: mirror-commands, render, size-lustre\n"
    )
