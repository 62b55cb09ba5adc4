"""However a run ends, none of its processes remains. The launchers here are small programs that behave like mpirun."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from training_workloads.run_local import process_family, supervisor
from training_workloads.run_local.supervisor import Ending, exit_code, supervise, what_ended_it

# Starts two ranks, each in a separate session as mpirun does, of which one ignores SIGTERM, and prints their PIDs.
LAUNCHER = """
import signal, subprocess, sys, time
ranks = [
    subprocess.Popen([sys.executable, "-c", "import signal, time; " + first + "time.sleep(60)"], start_new_session=True)
    for first in ("", "signal.signal(signal.SIGTERM, signal.SIG_IGN); ")
]
def end(number, frame):
    for rank in ranks:
        rank.kill()
    sys.exit(1)
signal.signal(signal.SIGTERM, end)
time.sleep(0.5)
print("ranks", *(rank.pid for rank in ranks), flush=True)
"""

DRIVER = """
import os, sys
from training_workloads.run_local.supervisor import supervise
ending = supervise([sys.executable, "-c", sys.argv[1]], dict(os.environ), name="mpirun")
print(ending.reason, file=sys.stderr)
sys.exit(ending.code)
"""


def run(program: str) -> Ending:
    return supervise([sys.executable, "-c", program], dict(os.environ), name="mpirun")


def pids(text: str) -> list[int]:
    return [int(word) for line in text.splitlines() if line.startswith("ranks") for word in line.split()[1:]]


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_family, "_GRACE_SECONDS", 0.5)


def _hear_signals() -> None:
    """Reset signals: children of a background shell ignore Ctrl-C, and those of nohup the end of the terminal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a program that supervises a launcher; its processes are killed after the test."""
    started: list[subprocess.Popen[str]] = []

    def program(text: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, text],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            preexec_fn=_hear_signals,
        )
        started.append(process)
        return process

    yield program
    for process in started:
        process.kill()
        process.communicate()


def test_a_run_that_succeeds_has_no_reason() -> None:
    assert run("print('done')") == Ending(code=0, reason=None)


def test_the_exit_code_is_the_launchers() -> None:
    assert run("raise SystemExit(7)") == Ending(code=7, reason="mpirun ended with exit code 7; no rank runs any more")


def test_the_rank_that_ended_the_run_is_named() -> None:
    words = "prterun noticed that process rank 1 with PID 9 on node vm exited on\\nsignal 9 (Killed)."
    ending = run(f"import sys; print('{words}', file=sys.stderr); raise SystemExit(137)")
    assert ending == Ending(code=137, reason="rank 1 was ended by SIGKILL; no rank runs any more")


# As mpirun, it ends when no process holds the output of its rank open.
WAITS_FOR_OUTPUT = """
import os, subprocess
ours, rank = os.pipe()
subprocess.run(["sh", "-c", "sleep 600 &"], stdout=rank, stderr=rank)
os.close(rank)
os.read(ours, 1)
"""


def test_what_a_rank_has_left_running_is_named_and_then_ended(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("_LOOK_SECONDS", 0.1), ("_SILENT_SECONDS", 0.3), ("_LEFT_BEHIND_SECONDS", 2.0)):
        monkeypatch.setattr(supervisor, name, seconds)
    assert run(WAITS_FOR_OUTPUT) == Ending(code=0, reason=None)
    waits, ends = capfd.readouterr().err.splitlines()
    assert re.fullmatch(
        r"run-local: every rank has ended, and mpirun waits for process \d+ \(sleep 600\), which a rank has left "
        r"running; it is ended in \d s; end it in the program, or start it with stdout=subprocess.DEVNULL and .*",
        waits,
    )
    assert re.fullmatch(r"run-local: ends process \d+ \(sleep 600\), 2 s after the last rank", ends)


def test_what_a_running_rank_has_started_is_not_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("_LOOK_SECONDS", 0.1), ("_SILENT_SECONDS", 1.0), ("_LEFT_BEHIND_SECONDS", 1.0)):
        monkeypatch.setattr(supervisor, name, seconds)
    text = "import subprocess; subprocess.run(['sh', '-c', '(sleep 600 &); sleep 2.5'])"
    assert run(text) == Ending(code=0, reason=None)
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("hurried")
def test_a_launcher_that_is_killed_leaves_no_rank(capfd: pytest.CaptureFixture[str]) -> None:
    ending = run(f"{LAUNCHER}import os; os.kill(os.getpid(), signal.SIGKILL)")
    assert ending == Ending(code=137, reason="mpirun was ended by SIGKILL; no rank runs any more")
    ranks = pids(capfd.readouterr().out)
    assert len(ranks) == 2
    assert not any(map(alive, ranks))


@pytest.mark.usefixtures("hurried")
def test_a_launcher_that_does_not_end_its_ranks_leaves_none(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(LAUNCHER).code == 0
    ranks = pids(capfd.readouterr().out)
    assert len(ranks) == 2
    assert not any(map(alive, ranks))


@pytest.mark.usefixtures("hurried")
def test_ignores_processes_of_others() -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        run("import subprocess; subprocess.Popen(['sleep', '60'])")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_every_rank(
    number: signal.Signals, code: int, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start(f"{LAUNCHER}time.sleep(60)")
    assert process.stdout
    ranks = pids(process.stdout.readline())
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.splitlines()[-1]) == (code, f"ended by {number.name}, and every rank with it")
    assert len(ranks) == 2
    assert not any(map(alive, ranks))


def test_a_killed_runner_ends_the_launcher_and_with_it_the_ranks(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(f"{LAUNCHER}time.sleep(60)")
    assert process.stdout
    ranks = pids(process.stdout.readline())
    assert len(ranks) == 2
    process.kill()
    wait_for(lambda: not any(map(alive, ranks)), "a rank still runs")


def test_a_closed_output_ends_the_run(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(f"{LAUNCHER}exec('while True: print(1, flush=True); time.sleep(0.01)')")
    assert process.stdout
    assert process.stderr
    ranks = pids(process.stdout.readline())
    process.stdout.close()
    assert process.wait(timeout=30) == 141
    assert "ended because its output was closed" in process.stderr.read()
    assert len(ranks) == 2
    assert not any(map(alive, ranks))


def test_under_nohup_a_closed_terminal_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with process_family.caught_signals() as received:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
        assert received == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, previous)


def test_output_appears_at_once(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("import time; print('[1,1]<stdout>: first', flush=True); time.sleep(60)")
    assert process.stdout
    assert process.stdout.readline() == "rank  1 | first\n"
    assert process.poll() is None


def test_forwards_megabytes_of_both_outputs_in_order(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    program = """
import sys
for number in range(60000):
    print(f"[1,0]<stdout>: {number} {'x' * 40}")
    print(f"[1,1]<stderr>: {number} {'y' * 40}", file=sys.stderr)
"""
    assert run(program).code == 0
    output, errors = capfdbinary.readouterr()
    assert output.splitlines() == [f"rank  0 | {number} {'x' * 40}".encode() for number in range(60000)]
    assert errors.splitlines() == [f"rank  1 | {number} {'y' * 40}".encode() for number in range(60000)]


def test_forwards_a_line_of_megabytes_and_bytes_that_are_not_text(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("import os, sys; sys.stdout.buffer.write(b'\\xff' + b'x' * 3_000_000 + b'\\xfe')").code == 0
    assert capfdbinary.readouterr().out == b"\xff" + b"x" * 3_000_000 + b"\xfe\n"


def test_a_launcher_reads_nothing_from_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("import sys; print(repr(sys.stdin.read()))").code == 0
    assert capfd.readouterr().out == "''\n"


def test_no_file_is_left_open(tmp_path: Path) -> None:
    run("pass")
    before = psutil.Process().num_fds()
    run("pass")
    assert psutil.Process().num_fds() == before


# The launchers' output when rank 1 was killed by SIGKILL, or ended with exit code 3.
OPEN_MPI_5_KILLED = """--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 2850 on node vm exited on
signal 9 (Killed).
--------------------------------------------------------------------------"""
OPEN_MPI_5_EXIT = """--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-2878@1,1]
   Exit code:    3
--------------------------------------------------------------------------"""
OPEN_MPI_4_EXIT = """mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[2938,1],1]
  Exit code:    3
"""
OPEN_MPI_4_UNKNOWN = """Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted."""
HOROVOD_ELASTIC = """RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus \
causing the job to be terminated. The first process to do so was:
Process name: localhost[1]
Exit code: 137
"""
HOROVOD = HOROVOD_ELASTIC.replace("localhost[1]", "1").replace("137", "3")
ABORT = "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n  Proc: [[1,1],1]\n  Errorcode: 3"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (OPEN_MPI_5_KILLED, 137, "rank 1 was ended by SIGKILL"),
        (OPEN_MPI_5_EXIT, 3, "rank 1 ended with exit code 3"),
        (
            OPEN_MPI_5_EXIT.replace("    3", "    75"),
            75,
            "rank 1 ended with exit code 75 (stopped on request, the state is saved: a restart resumes)",
        ),
        (OPEN_MPI_4_EXIT, 3, "rank 1 ended with exit code 3"),
        (HOROVOD_ELASTIC, 1, "rank 1 was ended by SIGKILL"),
        (HOROVOD, 1, "rank 1 ended with exit code 3"),
        (ABORT, 3, "rank 1 ended with exit code 3"),
        (OPEN_MPI_4_UNKNOWN, 3, "mpirun ended with exit code 3"),
        (OPEN_MPI_4_UNKNOWN, 137, "mpirun ended with exit code 137, as a rank that was ended by SIGKILL"),
        ("", 255, "mpirun ended with exit code 255"),
        (OPEN_MPI_5_KILLED, -9, "mpirun was ended by SIGKILL"),
    ],
)
def test_what_ended_a_run(words: str, status: int, sentence: str) -> None:
    assert what_ended_it("mpirun", status, words) == sentence


@pytest.mark.parametrize(("status", "code"), [(0, 0), (3, 3), (-9, 137), (-15, 143)])
def test_a_signal_is_an_exit_code_above_128(status: int, code: int) -> None:
    assert exit_code(status) == code
