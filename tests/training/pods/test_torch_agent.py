import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.training.mpirun import PATIENCE
from training.pods import repeated_training, torch_agent
from training.pods.cost_cap import OwnCostFile
from training.runtime.torchrun_environment import USER_ERROR_FILE

# A rank of training.runtime, which ends as its last word says; torchrun would start it again after any code.
RANK = """
import sys
from training.runtime.distributed import run
from training.runtime.errors import LostFileSystemError, RankError, UserError
from training.runtime.stop_request import Stopped

def program():
    name = sys.argv[1]
    if name != "success":
        errors = {"user": UserError, "rank": RankError, "lost": LostFileSystemError, "stopped": Stopped}
        raise errors[name]("the reason")

sys.exit(run(program))
"""

# Torchrun starts the ranks again after a pause, until it gets SIGTERM, or three times; its own exit code is 1.
TORCHRUN = """
import pathlib, signal, subprocess, sys, time
pathlib.Path("torchrun-runs").touch()
for start in range(3):
    with open("starts", "a") as starts:
        print(start, file=starts)
    if subprocess.run(sys.argv[2:]).returncode == 0:
        sys.exit(0)
    time.sleep(float(sys.argv[1]))
sys.exit(1)
"""


@contextmanager
def started(folder: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "training.pods.torch_agent", "--", *command]
    environment = os.environ | {"PYTHONPATH": str(Path(torch_agent.__file__).parents[2])}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                for member in [*psutil.Process(process.pid).children(recursive=True), process]:
                    member.kill()


def ended(folder: Path, how: str, pause: str) -> tuple[int, int, str]:
    """Return the exit code, how often the ranks started, and the errors, for a rank that ends in this way."""
    with started(folder, sys.executable, "-c", TORCHRUN, pause, sys.executable, "-c", RANK, how) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, len((folder / "starts").read_text().splitlines()), errors


@pytest.mark.parametrize(("how", "shown"), [("user", "error: the reason"), ("rank", "error: rank 0: the reason")])
def test_a_user_s_error_of_a_rank_ends_the_worker_at_its_first_start(tmp_path: Path, how: str, shown: str) -> None:
    code, starts, errors = ended(tmp_path, how, pause="5")
    assert (code, starts) == (2, 1)
    assert errors.splitlines() == [
        shown,
        "error: the reason. A restart would repeat it: cancel the job, fix it, submit it again",
    ]


@pytest.mark.parametrize("how", ["lost", "stopped"])
def test_ranks_start_again_after_what_a_restart_may_fix(tmp_path: Path, how: str) -> None:
    assert ended(tmp_path, how, pause="0.5")[:2] == (1, 3)


def test_a_success_is_one(tmp_path: Path) -> None:
    assert ended(tmp_path, "success", pause="0") == (0, 1, "")


def test_a_stop_request_reaches_torchrun(tmp_path: Path) -> None:
    script = "trap 'echo stopped; exit 7' TERM; echo ready; while :; do sleep 0.1; done"
    with started(tmp_path, "sh", "-c", script) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (7, "stopped\n", "")


def test_training_that_is_repeated_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch_agent, "_LOOK_SECONDS", 0.1)
    monkeypatch.setattr(repeated_training, "_LEAST_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    ranks = "sleep 0.7; for epoch in 1 2 3; do echo epoch $epoch: loss 1; done; sleep 0.7; false"
    assert torch_agent.main(["--", sys.executable, "-c", TORCHRUN, "0", "sh", "-c", ranks]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert [line.startswith("started again without a checkpoint, at epoch 1 as") for line in lines].count(True) == 2
    assert [line for line in lines if not line.startswith("started")] == [f"epoch {n}: loss 1" for n in (1, 2, 3)] * 3


def test_a_torchrun_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_agent, "_KILL_SECONDS", 0.5)
    monkeypatch.setenv(USER_ERROR_FILE, "")
    log = tmp_path / "termination-log"
    log.touch()
    script = f"trap '' TERM; printf 'the reason' > \"${USER_ERROR_FILE}\"; while :; do sleep 0.1; done"
    assert torch_agent.main(["--", "sh", "-c", script], log) == 2
    assert log.read_text() == "the reason. A restart would repeat it: cancel the job, fix it, submit it again"


def test_a_command_that_does_not_exist_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert torch_agent.main(["--", "torchrunn"]) == 2
    assert capsys.readouterr().err == (
        "error: the command is 'torchrunn'; give a program of the image after '--', such as torchrun\n"
    )


def capped(folder: Path, most: str, *command: str) -> tuple[int, str, str]:
    """Return the exit code and the outputs of a worker whose job costs a dollar a second."""
    cap = ("--max-cost", most, "--usd-per-hour", "3600")
    words = [
        sys.executable,
        "-m",
        "training.pods.torch_agent",
        *cap,
        "--",
        *command,
        "--output-dir",
        str(folder / "run"),
    ]
    environment = os.environ | {"PYTHONPATH": str(Path(torch_agent.__file__).parents[2])}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_run_gets_a_stop_request_at_its_cap_and_ends(tmp_path: Path) -> None:
    script = "trap 'echo saved; exit 1' TERM; while :; do sleep 0.1; done"
    code, out, errors = capped(tmp_path, "2", "sh", "-c", script)
    assert (code, "saved\n" in out) == (2, True)
    assert errors.startswith("error: the run has cost $")
    assert "and '--max-cost' is 2: torchrun ended with exit code 1; to resume it, submit it with a higher" in errors
    spent = float(json.loads((tmp_path / "run/cost.json").read_text())["usd"])
    assert 2 <= spent < 30
    code, out, errors = capped(tmp_path, "2", "echo", "started")
    assert (code, "started" in out, "and '--max-cost' is 2; to resume it" in errors) == (2, False, True)
    code, out, errors = capped(tmp_path, "500", "echo", "started")
    assert (code, "started" in out, errors) == (0, True, "")
    assert float(json.loads((tmp_path / "run/cost.json").read_text())["usd"]) >= spent


def test_a_worker_that_starts_later_does_not_lower_the_sum(tmp_path: Path) -> None:
    file = OwnCostFile(("train", "--output-dir", str(tmp_path)))
    file.write((), 9.5)
    file.write((), 3.0)
    assert file.read(()) == 9.5
    # A damaged file ends no run that has begun.
    (tmp_path / "cost.json").write_text("{")
    file.write((), 12.0)
    assert file.read(()) == 12.0


def test_a_sum_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    code, _, errors = capped(tmp_path, "500", "echo", "started")
    assert code == 0
    assert "/run/cost.json cannot be written: " in errors
