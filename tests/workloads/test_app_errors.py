"""How an app ends: a mistake is a line for each problem, a bug keeps its traceback."""

import signal
import sys
from collections.abc import Iterator

import pytest

from training_workloads.app_errors import errors_as_lines
from training_workloads.validation import InputError, Problem


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What an app calls, undone after the test."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    before = signal.getsignal(signal.SIGINT)
    errors_as_lines()
    yield
    signal.signal(signal.SIGINT, before)


def reported(error: BaseException, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the message that a user reads at the end of an app."""
    sys.excepthook(type(error), error, error.__traceback__)
    return capsys.readouterr().err


def of_nodejs(text: str, cause: str = "JavaScriptError") -> RuntimeError:
    """Return an error as jsii raises it."""
    error = RuntimeError(text)
    error.__cause__ = type(cause, (Exception,), {"__module__": "jsii.errors"})("the stack of JavaScript")
    return error


def test_each_problem_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    problems = (Problem(path=(name,), given="maybe", fix="give true or false") for name in ("efs", "nat"))
    assert reported(InputError(*problems), capsys) == (
        "error: 'efs' is 'maybe'; give true or false\nerror: 'nat' is 'maybe'; give true or false\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "ENOSPC: no space left on device, write",
        "Error: EACCES: permission denied",
        "Validation failed with: x",
        "DependencyCycle: 'A' depends on 'B' (a). Adding this dependency (b) would create a cyclic reference.",
    ],
)
def test_what_nodejs_says_about_the_machine_or_a_rule_is_a_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(of_nodejs(text), capsys) == f"error: {text}\n"


def test_a_nodejs_that_does_not_start_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = type("JSIIError", (Exception,), {"__module__": "jsii.errors"})("EACCES: no cache;\n  set JSII_CACHE")
    assert reported(error, capsys) == "error: Node.js cannot run the AWS CDK: EACCES: no cache; set JSII_CACHE\n"


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), RuntimeError("ENOSPC: of Python"), of_nodejs("TypeError: Cannot read properties of undefined")],
)
def test_a_bug_keeps_its_traceback(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    error.__traceback__ = None
    assert f"{type(error).__name__}: {error}" in reported(error, capsys)


def test_ctrl_c_ends_the_program_as_it_ends_one_in_c() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
