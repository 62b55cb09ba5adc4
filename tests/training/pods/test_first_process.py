import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from training.pods import first_process
from training.runtime.errors import UserError

# Runs a command as its child, and prints a line for each stop request.
PROGRAM = """
import sys
from training.pods.first_process import Child
child = Child(sys.argv[1:])
while child.wait_for_stop_request():
    print("stop request", flush=True)
sys.exit(child.code)
"""


def start(*command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PROGRAM, *command]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 75", 75), ("kill -KILL $$", 137)])
def test_the_exit_code_is_the_program_s(script: str, code: int) -> None:
    with start("sh", "-c", script) as process:
        assert process.wait(timeout=60) == code


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGINT])
def test_returns_a_request_to_end_and_keeps_running(request_to_end: signal.Signals) -> None:
    with start("sh", "-c", "echo ready; read -r line; exit 3") as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(request_to_end)
        assert process.stdout.readline() == "stop request\n"
        process.communicate("continue\n", timeout=60)
    assert process.returncode == 3


def test_the_program_starts_with_the_signals_of_a_shell() -> None:
    # Python ignores SIGPIPE and blocks the signals that it waits for; a program would inherit both.
    with start("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status") as process:
        output, _ = process.communicate(timeout=60)
    masks = [int(line.split()[1], 16) for line in output.splitlines()]
    for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD):
        assert [mask >> (number - 1) & 1 for mask in masks] == [0, 0]


@pytest.mark.parametrize("words", [[], ["--"], ["--", "mpirnu", "-np"]])
def test_rejects_a_program_that_does_not_exist(words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        first_process.command_like("mpirun")(words[1:])
    given = " ".join(words[1:])
    assert str(caught.value) == f"the command is '{given}'; give a program of the image after '--', such as mpirun"


def test_a_program_that_the_kernel_cannot_run_is_a_users_mistake(tmp_path: Path) -> None:
    script, before = tmp_path / "train", signal.pthread_sigmask(signal.SIG_BLOCK, ())
    script.write_text("echo trained\n")
    script.chmod(0o755)
    with pytest.raises(UserError) as caught:
        first_process.Child([str(script)])
    assert str(caught.value).startswith(
        f"'{script}' cannot be run: Exec format error; give a script whose first line names its interpreter, such as"
    )
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_threads_that_start_within_signals_blocked_keep_them_blocked() -> None:
    def mask() -> set[int]:
        return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())}

    before = mask()
    with first_process.signals_blocked(), ThreadPoolExecutor(1) as pool:
        within = pool.submit(mask)
    assert within.result() >= set(first_process.STOP_SIGNALS)
    assert mask() == before
