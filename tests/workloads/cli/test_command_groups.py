"""Groups of commands of other packages, and those that cannot be imported."""

from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path

import pytest

from tests.workloads.cli.conftest import Command


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, module: str, text: str) -> None:
    """Install a module whose `app` is the group `theirs`."""
    (folder / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    theirs = EntryPoint("theirs", f"{module}:app", "trainctl.commands")
    known = EntryPoints([*entry_points(group="trainctl.commands"), theirs])
    monkeypatch.setattr("importlib.metadata.entry_points", known.select)


@pytest.mark.parametrize(
    ("module", "text", "why"),
    [
        ("absent", "import nothing_such\n", "ModuleNotFoundError: No module named 'nothing_such'"),
        ("unreadable", "def f(:\n", "SyntaxError: invalid syntax"),
        ("wrong", "x = int('two')\n", "ValueError: invalid literal for int() with base 10: 'two'"),
        ("ending", "raise SystemExit(0)\n", "SystemExit: 0"),
        ("empty", "", "AttributeError: module 'empty' has no attribute 'app'"),
    ],
)
def test_a_group_that_cannot_be_imported_is_named_where_it_is_used(
    module: str, text: str, why: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, module, text)
    code, output, errors = command("theirs", "-x", "y")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"error: 'COMMAND' is 'theirs', but {module}:app raises {why}")
    assert errors.endswith(f"; fix or uninstall {module}:app\n")
    helped = command("--help")
    assert (helped.code, helped.err) == (0, "")
    assert f"theirs Cannot be imported: {module}:app raises {why.partition(':')[0]}" in " ".join(helped.out.split())
    assert command("render", "-h").code == 0


def test_another_object_than_a_command_is_named(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, "another", "app = 5\n")
    message = "but another:app is not a click.Group; fix or uninstall another:app"
    assert command("theirs") == (2, "", f"error: 'COMMAND' is 'theirs', {message}\n")


GROUP = """
import click
print("at the import")

@click.group()
def app() -> None: "Theirs."

@app.command()
def ask() -> None:
    click.confirm("Sure?", abort=True)
"""


def test_a_question_answered_with_no_ends_the_command(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, "asking", GROUP)
    monkeypatch.setattr("builtins.input", lambda *_: "n")
    monkeypatch.setattr("sys.stdin.readline", lambda *_: "n\n", raising=False)
    code, output, errors = command("theirs", "ask")
    assert (code, errors) == (1, "at the import\naborted\n")
    assert output.startswith("Sure?")


def test_a_group_has_the_help_and_the_messages_of_the_program(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, "plain", GROUP)
    assert command("theirs", "ask", "-h").out.splitlines()[0] == "Usage: trainctl theirs ask [OPTIONS]"
    message = "error: Got unexpected extra argument (b); 'trainctl theirs ask --help' shows what to type\n"
    assert command("theirs", "ask", "b").err == message
