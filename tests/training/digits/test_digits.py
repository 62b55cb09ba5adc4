import json
import platform
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.mpirun import PATIENCE, Run, end, start
from training.runtime import checkpoint, files

pytestmark = pytest.mark.whole_run


def weights(run: Run) -> list[NDArray[Any]]:
    found = checkpoint.newest(run.output / "checkpoints")
    assert found is not None
    return list(found.arrays)


def history(run: Run) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((run.output / "results.json").read_text())["history"]
    return content


def copy(run: Run, folder: Path) -> Path:
    return shutil.copytree(run.output, folder / "copy")


def test_two_ranks_learn_the_digits(finished: Run) -> None:
    assert finished.code == 0, finished.stderr
    assert json.loads((finished.output / "results.json").read_text())["accuracy"] >= 0.97


def test_results_have_speed_device_and_versions(finished: Run) -> None:
    content = json.loads((finished.output / "results.json").read_text())
    assert len(content["images_per_second_per_rank"]) == 2
    assert min(content["images_per_second_per_rank"]) > 0
    assert content["images_per_second"] == pytest.approx(sum(content["images_per_second_per_rank"]), abs=0.2)
    assert content["training_seconds"] > 0
    # All images, and all the time since the process began.
    assert content["trained_images"] == 12 * 1437
    assert content["wall_seconds"] > content["training_seconds"]
    assert 0 < content["wall_images_per_second"] < content["images_per_second"]
    expected = {"world_size": 2, "epochs": 12, "global_batch_size": 32, "device": "cpu"}
    assert {name: content[name] for name in expected} == expected
    assert list(content["versions"]) == ["python", "tensorflow", "numpy", "horovod", "mpi"]
    assert content["versions"]["python"] == platform.python_version()
    assert content["versions"]["numpy"] == np.__version__
    assert content["versions"]["mpi"].startswith("Open MPI v")


def test_prints_its_arithmetic_first(finished: Run) -> None:
    assert finished.stdout.splitlines()[:4] == [
        "ranks: 2, of them 2 on the machine of rank 0, which computes on: cpu",
        "batch: 16 images per rank x 2 ranks = 32 images per step",
        "steps: 1437 training images / 32, rounded up, = 45 per epoch; x 12 epochs = 540",
        "learning rate: 0.015 per rank x 2 ranks = 0.03, reached from 0.015 over 3 epochs, "
        "then along a cosine to 0 at epoch 12",
    ]


def test_each_line_is_printed_once_and_tensorflow_is_silent(finished: Run) -> None:
    lines = finished.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 4 + 12 + 1
    assert "Unable to register" not in finished.stderr


def test_the_last_line_has_the_figures_of_a_report_and_no_more(finished: Run) -> None:
    content = json.loads((finished.output / "results.json").read_text())
    line = json.loads(finished.stdout.splitlines()[-1].removeprefix("results: "))
    assert line.pop("data_wait_share") == max(content["data_wait_share_per_rank"])
    assert line == {name: content[name] for name in ("accuracy", *files.REPORTED)}


def test_one_rank_writes_the_files(finished: Run) -> None:
    output = finished.output
    names = [".run-lock", "checkpoints", "curve.svg", "results.json", "tensorboard"]
    assert sorted(path.name for path in output.iterdir()) == names
    assert [path.name for path in sorted((output / "checkpoints").iterdir())] == [
        "latest",
        "step-00000450.checkpoint",
        "step-00000495.checkpoint",
        "step-00000540.checkpoint",
    ]
    (events,) = (output / "tensorboard").iterdir()
    assert events.name.startswith("events.out.tfevents.")
    assert b"test accuracy" in events.read_bytes()


def test_a_killed_run_resumes_to_the_weights_of_an_uninterrupted_one(
    digits: Callable[..., Run], finished: Run, killed: Run, tmp_path: Path
) -> None:
    assert killed.code != 0
    assert not (killed.output / "results.json").exists()
    output = copy(killed, tmp_path)
    # And its newest checkpoint is damaged as well.
    newest = sorted((output / "checkpoints").glob("step-*"))[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    resumed = digits(2, output)
    assert resumed.code == 0, resumed.stderr
    assert resumed.stderr.count(f"warning: {newest} is damaged") == 1
    before = int(newest.stem.removeprefix("step-")) // 45 - 1
    where = f"resuming after step {45 * before}, 0 images into epoch {before + 1}: written by 2 ranks, now 2"
    assert where in resumed.stdout
    for ours, theirs in zip(weights(resumed), weights(finished), strict=True):
        assert np.array_equal(ours, theirs)
    # The curve of all epochs, each once.
    assert history(resumed) == history(finished)


def test_a_run_resumes_with_another_number_of_ranks(digits: Callable[..., Run], killed: Run, tmp_path: Path) -> None:
    resumed = digits(3, copy(killed, tmp_path))
    assert resumed.code == 0, resumed.stderr
    assert "16 images per rank x 3 ranks = 48 images per step" in resumed.stdout
    assert "written by 2 ranks, now 3" in resumed.stdout
    content = json.loads((resumed.output / "results.json").read_text())
    assert content["world_size"] == len(content["images_per_second_per_rank"]) == 3
    assert content["accuracy"] >= 0.97
    assert [point["epoch"] for point in content["history"]] == list(range(1, 13))
    # The eighth epoch's checkpoint may have been in flight.
    before = int(resumed.stdout.partition("resuming after step ")[2].partition(",")[0]) // 45
    assert before in (7, 8)
    assert [point["world_size"] for point in content["history"]] == [2] * before + [3] * (12 - before)


def test_a_finished_run_keeps_its_results(digits: Callable[..., Run], finished: Run) -> None:
    before = (finished.output / "results.json").read_bytes()
    again = digits(1, finished.output)
    assert again.code == 0, again.stderr
    assert f"nothing to do: {finished.output} holds this run, finished, with accuracy 0.9" in again.stdout
    assert (finished.output / "results.json").read_bytes() == before


def test_of_two_runs_in_one_folder_the_second_is_rejected_and_the_first_is_undisturbed(
    launch: Callable[..., Run], tmp_path: Path
) -> None:
    output, logs = tmp_path / "run", tmp_path / "logs"
    program = ["-m", "tests.training.digits.impatient_digits", "--epochs", "9999", "--output-dir", str(output)]
    first = start(1, program, logs)

    def wait_for_another_epoch() -> None:
        deadline, lines = time.monotonic() + PATIENCE, (logs / "stdout").read_text().count(", test accuracy ")
        while (logs / "stdout").read_text().count(", test accuracy ") == lines:
            assert first.poll() is None, (logs / "stderr").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    try:
        wait_for_another_epoch()
        second = launch(2, *program, output=output)
        wait_for_another_epoch()
    finally:
        end(first)
        first.wait(timeout=PATIENCE)
    assert second.code == 2
    assert second.stdout.startswith(f"waiting for another run in {output} to end: process ")
    owner = json.loads((output / ".run-lock").read_bytes())
    process = f"process {owner['process']} on {owner['host']}, since {owner['since']}"
    error = f"error: the output folder is {output}, where another run trains: {process}; wait for its end or stop it"
    assert second.stderr.count(error) == 1


def test_an_error_is_printed_once_without_a_traceback_and_ends_all_ranks(
    digits: Callable[..., Run], tmp_path: Path
) -> None:
    # Rank zero alone can see this error; below a file, since root may write everywhere else.
    (tmp_path / "file").write_text("")
    run = digits(2, tmp_path / "file" / "run")
    assert run.code == 2
    assert run.stderr.count("error: '--output-dir' is ") == 1
    assert "cannot write (Not a directory); a part of the path is a file: give another\n" in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


def test_a_stopped_run_resumes_within_the_epoch_to_the_weights_of_an_uninterrupted_one(
    digits: Callable[..., Run], finished: Run, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    output = tmp_path / "run"
    process = start(2, ["-m", "training.digits", "--output-dir", str(output)], logs)
    try:
        deadline = time.monotonic() + PATIENCE
        while "epoch 3/12" not in (logs / "stdout").read_text():
            assert process.poll() is None, (logs / "stderr").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGUSR1)
        assert process.wait(timeout=PATIENCE) == 75
    finally:
        end(process)
    step = int((logs / "stdout").read_text().rpartition("stopped on request after step ")[2].partition(";")[0])
    resumed = digits(2, output)
    assert f"resuming after step {step}, " in resumed.stdout
    for ours, theirs in zip(weights(resumed), weights(finished), strict=True):
        assert np.array_equal(ours, theirs)
    assert history(resumed) == history(finished)


def test_a_run_that_diverges_ends_before_its_weights_are_saved(digits: Callable[..., Run], tmp_path: Path) -> None:
    run = digits(2, tmp_path / "run", "--learning-rate", "1e30", "--warmup-epochs", "0")
    assert run.code == 2
    assert run.stderr.count("error: the gradients of the last step were not finite; the newest checkpoint in ") == 1
    assert not list((tmp_path / "run" / "checkpoints").glob("step-*"))
