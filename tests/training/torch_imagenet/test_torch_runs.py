"""Whole runs of two ranks on Gloo: finished, killed, stopped, and resumed with the same and with other ranks."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from tests.training.mpirun import PATIENCE, ROOT, end
from tests.training.torch_imagenet.forked_ranks import OPTIONS, Ranks
from tests.training.torch_imagenet.tiny_torch import tiny
from training.runtime import checkpoint
from training.runtime.rank_checkpoint import FOLDER

pytestmark = pytest.mark.whole_run


def results(run: Ranks) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.output / "results.json").read_text())
    return found


def state(run: Ranks) -> list[bytes]:
    """Return all that the last checkpoint holds, and the exported weights."""
    last = checkpoint.newest(run.output / FOLDER)
    assert last is not None
    exported = torch.load(run.output / "model.pt", weights_only=True)
    return [array.tobytes() for array in (*last.arrays, *(each.numpy() for each in exported.values()))]


def test_a_run_writes_what_the_other_programs_write(finished: Ranks) -> None:
    assert finished.codes == [0, 0], finished.log.read_text()
    found = results(finished)
    # 1,437 images / 128, rounded down; every validation image once.
    assert (found["steps"], found["epochs"], found["world_size"], found["trained_images"]) == (22, 2, 2, 22 * 128)
    assert found["evaluated_images"] == 360
    assert [(point["epoch"], point["world_size"]) for point in found["history"]] == [(1, 2), (2, 2)]
    assert found["versions"]["torch"] == torch.__version__
    assert found["history"][1]["loss"]["training"] < found["history"][0]["loss"]["training"]
    assert {"curve.svg", "tensorboard", "model.pt"} <= {path.name for path in finished.output.iterdir()}
    assert any((finished.output / "tensorboard").iterdir())
    # For torchvision's network of the same kind.
    tiny(10).load_state_dict(torch.load(finished.output / "model.pt", weights_only=True))
    # The output folder is free again, and its checkpoints are three.
    assert len(list((finished.output / FOLDER).glob("step-*.checkpoint"))) == 3


def test_a_run_whose_rank_is_killed_ends_as_an_undisturbed_one(
    finished: Ranks, start: Callable[..., Ranks], tmp_path: Path
) -> None:
    run = start(2, tmp_path / "run")
    run.wait_for("step 8:")
    os.kill(run.processes[1].pid or 0, signal.SIGKILL)
    run.end()
    # The other one does not wait for ever.
    assert run.codes[1] == -signal.SIGKILL
    assert run.codes[0] not in (0, None)
    again = start(2, tmp_path / "run").end()
    assert again.codes == [0, 0], again.log.read_text()
    resumed = re.search(r"resuming after step (\d+), (\d+) images into epoch 1", again.log.read_text())
    # A step costs at most the three since the last checkpoint, and that one may have been in flight.
    assert resumed is not None
    assert int(resumed[1]) in (3, 6)
    assert state(again) == state(finished)
    assert results(again)["history"][-1]["accuracy"] == results(finished)["history"][-1]["accuracy"]


def test_a_killed_process_of_the_dataloader_ends_the_run_with_a_message(
    start: Callable[..., Ranks], tmp_path: Path
) -> None:
    run = start(1, tmp_path / "run")
    run.wait_for("step 4:")
    (decoder,) = psutil.Process(run.processes[0].pid).children()
    decoder.kill()
    assert run.end().codes == [1]
    assert "error: rank 0: a process that decodes images has ended (DataLoader worker (pid" in run.log.read_text()
    assert "Traceback" not in run.log.read_text()


def test_a_rank_that_hangs_ends_and_so_does_the_one_that_waits_for_it(
    finished: Ranks, start: Callable[..., Ranks], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ranks inherit it. Long enough for a step on a busy machine.
    limit = 20
    monkeypatch.setenv("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", str(limit))
    run = start(2, tmp_path / "run")
    run.wait_for("step 8:")
    hangs, waits = run.processes[1], run.processes[0]
    os.kill(hangs.pid or 0, signal.SIGSTOP)
    waits.join(PATIENCE)
    # It has not waited for Gloo, whose limit is half an hour.
    assert waits.exitcode == 1, run.log.read_text()
    assert f"Timeout (0:00:{limit})!" in run.log.read_text()
    # The one that hung ends too as soon as it runs: its time is over, and the other one is gone.
    os.kill(hangs.pid or 0, signal.SIGCONT)
    assert run.end().codes[1] not in (0, None)
    monkeypatch.undo()
    again = start(2, tmp_path / "run").end()
    assert again.codes == [0, 0], again.log.read_text()
    assert state(again) == state(finished)


def test_a_stopped_run_resumes_at_the_next_image_with_another_number_of_ranks(
    start: Callable[..., Ranks], tmp_path: Path
) -> None:
    run = start(2, tmp_path / "run")
    run.wait_for("step 4:")
    # One rank is enough: all stop after the same step.
    os.kill(run.processes[0].pid or 0, signal.SIGTERM)
    run.end()
    assert run.codes == [os.EX_TEMPFAIL, os.EX_TEMPFAIL], run.log.read_text()
    stopped = re.search(r"stopped on request after step (\d+); the same command resumes", run.log.read_text())
    assert stopped is not None
    step = int(stopped[1])
    again = start(1, tmp_path / "run").end()
    assert again.codes == [0], again.log.read_text()
    assert f"resuming after step {step}, {step * 128} images into epoch 1: written by 2 ranks, now 1" in (
        again.log.read_text()
    )
    # The rest of the first epoch, and the second one with a rank of 64 images.
    first, second = (1437 - 128 * step) // 64, 1437 // 64
    found = results(again)
    assert found["steps"] == step + first + second
    assert found["trained_images"] == 128 * step + 64 * (first + second)
    assert found["evaluated_images"] == 360


def test_torchrun_starts_the_ranks_again_when_one_is_lost(finished: Ranks, digits: Path, tmp_path: Path) -> None:
    output, log = tmp_path / "run", tmp_path / "log"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    program = ["--max-restarts", "1", "-m", "tests.training.torch_imagenet.tiny_torch", *OPTIONS]
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*torchrun, *program, "--data-dir", str(digits), "--output-dir", str(output)],
            cwd=ROOT,
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while "step 8:" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        (lost,) = (each for each in psutil.Process(process.pid).children() if each.environ().get("RANK") == "1")
        lost.kill()
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        end(process)
    assert re.search(r"resuming after step [36], ", log.read_text())
    assert state(Ranks([], log, output)) == state(finished)


def test_a_user_s_error_ends_a_worker_of_torchrun_at_its_first_start(tmp_path: Path) -> None:
    agent = [sys.executable, "-m", "training.pods.torch_agent", "--", sys.executable, "-m", "torch.distributed.run"]
    options = ["--standalone", "--nproc-per-node", "2", "--max-restarts", "3", "-m", "training.torch_imagenet"]
    program = ["--data-dir", str(tmp_path / "data"), "--output-dir", str(tmp_path / "run")]
    ended = subprocess.run([*agent, *options, *program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2, ended.stderr
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    # Once by rank zero, and once by the worker.
    assert len(errors) == 2, ended.stderr
    assert errors[1] == f"{errors[0]}. A restart would repeat it: cancel the job, fix it, submit it again"
