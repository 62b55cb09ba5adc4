"""Options as fields: the command line and the settings of a resumed run derive from them."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from training.runtime import options
from training.runtime.command_line import path, positive_number, whole_number
from training.runtime.errors import UserError
from training.runtime.options import changed, option, printed


@dataclass(frozen=True, kw_only=True)
class Shared:
    epochs: int = option(whole_number(1), "passes over the images", group="recipe", learned=True)
    rate: float | None = option(positive_number, "of one rank", default=None, group="recipe", learned=printed)


@dataclass(frozen=True, kw_only=True)
class Settings(Shared):
    mode: str = option(("copy", "preload"), "what to do", positional=True)
    epochs: int = changed(Shared, "epochs", default=90)
    output_dir: Path = option(path, "folder for results.json", group="output")
    cache: str = option(("off", "on"), "keep the images", default="off", learned=lambda value: value == "on")
    fast: bool = option(bool, "without checks", default=False)
    mount: tuple[Path, ...] = option(Path, "may be repeated", default=(), repeated=True)
    command: tuple[str, ...] = option(tuple, "-- program", rest=True)


def parse(*arguments: str) -> Settings:
    return options.parse(Settings, "program", None, arguments)


def test_a_field_is_an_option_with_its_default() -> None:
    given = parse("--output-dir", "out", "--fast", "copy", "echo", "--epochs", "3")
    assert given == Settings(mode="copy", output_dir=Path("out"), fast=True, command=("echo", "--epochs", "3"))
    assert (given.epochs, given.rate, given.cache) == (90, None, "off")


def test_the_command_follows_the_dashes() -> None:
    assert parse("--output-dir", "out", "copy", "--", "sh", "--", "-c").command == ("sh", "--", "-c")


def test_a_program_whose_arguments_are_checked_ends_when_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(options.ONLY_PARSE, "1")
    with pytest.raises(SystemExit) as ended:
        parse("--output-dir", "out", "copy")
    assert ended.value.code == 0
    with pytest.raises(UserError, match="'--epochs' is 0; give 1 or more"):
        parse("--output-dir", "out", "--epochs", "0", "copy")


def test_a_repeated_option_is_a_tuple() -> None:
    assert parse("--output-dir", "out", "--mount", "/a", "--mount", "/b", "copy").mount == (Path("/a"), Path("/b"))
    assert parse("--output-dir", "out", "copy").mount == ()


def test_only_marked_options_change_what_is_learned() -> None:
    given = parse("--output-dir", "out", "--rate", "0.123456789", "--cache", "on", "copy")
    assert options.learned(given) == {"--epochs": 90, "--rate": 0.123457, "--cache": True}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["copy"], "the following arguments are required: --output-dir"),
        (["--output-dir", "out", "--epochs", "0", "copy"], "'--epochs' is 0; give 1 or more"),
        (["--output-dir", "out", "--cache", "all", "copy"], "'--cache' is 'all'; give off or on"),
    ],
)
def test_a_wrong_value_is_reported_by_the_name_of_the_option(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse(*arguments)


def test_the_help_has_groups_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("--help")
    words = " ".join(capsys.readouterr().out.split())
    assert "recipe: --epochs EPOCHS passes over the images (90) --rate RATE of one rank output: " in words
    assert "folder for results.json" in words


def test_a_group_that_the_help_does_not_have_is_rejected() -> None:
    @dataclass(frozen=True)
    class Misspelled:
        epochs: int = option(whole_number(1), "passes over the images", group="receipt")

    with pytest.raises(ValueError, match="receipt"):
        options.parse(Misspelled, "program", None, [])
