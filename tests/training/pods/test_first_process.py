import signal
import subprocess
import sys

import pytest

from training.pods import first_process
from training.runtime.errors import UserError

# Runs a command as its child, and says how the request to end it came.
PROGRAM = """
import sys
from training.pods.first_process import Child
child = Child(sys.argv[1:])
while child.asked_to_end():
    print("asked", flush=True)
sys.exit(child.code)
"""


def start(*command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PROGRAM, *command]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 75", 75), ("kill -KILL $$", 137)])
def test_the_exit_code_is_the_programs(script: str, code: int) -> None:
    with start("sh", "-c", script) as process:
        assert process.wait(timeout=20) == code


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGINT])
def test_a_request_to_end_is_told_and_does_not_end_it(request_to_end: signal.Signals) -> None:
    with start("sh", "-c", "echo ready; read -r line; exit 3") as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(request_to_end)
        assert process.stdout.readline() == "asked\n"
        process.communicate("go on\n", timeout=20)
    assert process.returncode == 3


def test_the_program_gets_signals_as_if_a_shell_had_started_it() -> None:
    # Python ignores SIGPIPE, and what it waits for is blocked; a program would inherit both.
    with start("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status") as process:
        output, _ = process.communicate(timeout=20)
    masks = [int(line.split()[1], 16) for line in output.splitlines()]
    for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD):
        assert [mask >> (number - 1) & 1 for mask in masks] == [0, 0]


@pytest.mark.parametrize("words", [[], ["--"], ["--", "mpirnu", "-np"]])
def test_a_program_that_is_not_there(words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        first_process.command_of(words, "mpirun")
    given = " ".join(words[1:])
    assert str(caught.value) == f"the command is '{given}'; give a program of the image after '--', such as mpirun"


def test_the_words_of_the_program_stand_after_the_dashes() -> None:
    assert first_process.command_of(["--", "sh", "--", "-c"], "mpirun") == ["sh", "--", "-c"]
