"""Everything around the network of training.resnet50: on two ranks, with a network of one block."""

import dataclasses
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.training.mpirun import PATIENCE, ROOT, Run, end, start
from training.runtime import checkpoint

pytestmark = pytest.mark.whole_run

# 1,437 images on two ranks: 22 steps an epoch.
_OPTIONS = ["--image-size", "32", "--classes", "10", "--batch-size", "32", "--epochs", "3", "--warmup-epochs", "1"]
_OPTIONS += ["--learning-rate", "0.5", "--checkpoint-every", "5steps", "--deterministic"]


@pytest.fixture(scope="module")
def digits_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "digits"
    command = [
        sys.executable,
        "-m",
        "training.imagenet.digit_shards",
        "--output-dir",
        str(folder),
        "--image-size",
        "36",
    ]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def arguments(digits_folder: Path) -> Callable[[Path], list[str]]:
    def of(output: Path) -> list[str]:
        return [
            "-m",
            "tests.training.resnet50.tiny_resnet50",
            "--data-dir",
            str(digits_folder),
            "--output-dir",
            str(output),
            *_OPTIONS,
        ]

    return of


@pytest.fixture(scope="module")
def finished(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    output = tmp_path_factory.mktemp("runs") / "finished"
    run = launch(2, *arguments(output), output=output)
    assert run.code == 0, run.stderr
    return run


def last(output: Path) -> checkpoint.Checkpoint:
    found = checkpoint.newest(output / "checkpoints")
    assert found is not None
    return found


def same(first: Path, second: Path) -> bool:
    pairs = zip(last(first).arrays, last(second).arrays, strict=True)
    return last(first).step == last(second).step and all(np.array_equal(a, b) for a, b in pairs)


def history(output: Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((output / "results.json").read_text())["history"]
    return content


def test_prints_its_arithmetic_first(finished: Run) -> None:
    assert finished.stdout.splitlines()[:5] == [
        "ranks: 2, of them 2 on the machine of rank 0, which computes on: cpu, in float32",
        "data: 1,437 images to train on, 360 to test with",
        "batch: 32 images per rank x 2 ranks = 64 images per step",
        "steps: 1437 training images / 64, rounded down, = 22 per epoch; x 3 epochs = 66",
        "learning rate: 0.5 x 64 / 256 = 0.125, reached from 0 over 1 epochs, then along a cosine to 0 at epoch 3; sgd"
        ", momentum 0.875, weight decay 3.05176e-05",
    ]


def test_results_have_accuracy_and_speed(finished: Run) -> None:
    results = json.loads((finished.output / "results.json").read_text())
    expected = {"steps": 66, "epochs": 3, "world_size": 2, "global_batch_size": 64, "evaluated_images": 360}
    assert {name: results[name] for name in expected} == expected
    assert (results["warm_up_steps"], results["steps_measured"], results["damaged_records"]) == (2, 64, 0)
    # One block learns more than chance.
    assert 0.2 < results["accuracy"] < results["top5_accuracy"] <= 1
    assert results["images_per_second"] == pytest.approx(sum(results["images_per_second_per_rank"]), rel=0.01)
    # 66 steps of 64 images, and all that is no step.
    assert results["trained_images"] == 66 * 64
    assert results["wall_seconds"] > results["training_seconds"]
    assert results["wall_images_per_second"] == pytest.approx(66 * 64 / results["wall_seconds"], rel=0.01)
    milliseconds = results["step_milliseconds"]
    assert 0 < milliseconds["p50"] <= milliseconds["p90"] <= milliseconds["p99"]
    assert all(0 <= share < 1 for share in results["data_wait_share_per_rank"])


def test_the_first_line_has_the_speed_of_the_compilation_and_the_last_one_that_of_the_run(finished: Run) -> None:
    steps = [line for line in finished.stdout.splitlines() if ", step " in line]
    first = re.fullmatch(r"epoch 1/3, step 1: loss 2.\d+, .*, (\S+) images/s while it compiles and warms up", steps[0])
    assert first, steps[0]
    assert 0 < float(first[1].replace(",", ""))
    assert re.search(r"images/s, \d+% of the time waiting for images$", steps[-1])
    ends = re.findall(r"epoch \d/3: loss .*, (\S+) images/s \((\S+) by wall clock\), half", finished.stdout)
    assert len(ends) == 3
    # The start takes longer than the steps.
    assert all(float(steady.replace(",", "")) > float(wall.replace(",", "")) for steady, wall in ends)


def test_one_rank_writes_the_files(finished: Run) -> None:
    names = [".run-lock", "checkpoints", "curve.svg", "model.keras", "results.json", "tensorboard"]
    assert sorted(path.name for path in finished.output.iterdir()) == names
    kept = ["latest", "step-00000060.checkpoint", "step-00000065.checkpoint", "step-00000066.checkpoint"]
    assert sorted(path.name for path in (finished.output / "checkpoints").iterdir()) == kept
    (events,) = (finished.output / "tensorboard").iterdir()
    for curve in (b"loss", b"learning rate", b"images per second", b"data wait share", b"top-1 accuracy"):
        assert curve in events.read_bytes()


def test_accuracy_is_that_of_the_model_on_every_image_once(finished: Run, digits_folder: Path) -> None:
    """Two ranks with batches of 32 counted what one process counts image by image."""
    import tensorflow as tf

    from training.imagenet import image_decoding
    from training.records import rank_records

    model = tf.keras.models.load_model(finished.output / "model.keras")
    records = rank_records.open_split(digits_folder, "validation", classes=10)
    numbers = list(range(len(records)))
    jpegs, labels = records.parse(tf.constant(records.read(numbers)), tf.constant(numbers, tf.int64))
    images = tf.stack([image_decoding.decode(jpeg, image_decoding.evaluation_window, 32) for jpeg in jpegs])
    guesses = np.argmax(model(image_decoding.to_float(images, tf.zeros(360, tf.bool), tf.float32)), axis=1)
    results = json.loads((finished.output / "results.json").read_text())
    assert results["accuracy"] == np.mean(guesses == labels.numpy() - 1)


def test_a_killed_run_resumes_to_the_same_weights_as_an_uninterrupted_one(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    killed = launch(2, *arguments(tmp_path), output=tmp_path, kill_at="step 33:")
    assert killed.code != 0
    assert not (tmp_path / "results.json").exists()
    # And its newest checkpoint is damaged as well.
    newest = max((tmp_path / "checkpoints").glob("step-*"))
    newest.write_bytes(newest.read_bytes()[:-1])
    before = int(newest.stem.removeprefix("step-"))
    resumed = launch(2, *arguments(tmp_path), output=tmp_path)
    assert resumed.code == 0, resumed.stderr
    assert f"warning: {newest} is damaged" in resumed.stderr
    assert f"resuming after step {before - 5}, " in resumed.stdout
    assert same(tmp_path, finished.output)
    # Each epoch once, with the losses of its steps before the kill.
    assert history(tmp_path) == history(finished.output)


def test_a_stop_request_to_one_rank_saves_the_state_of_all_and_the_run_can_resume(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output, logs = tmp_path / "run", tmp_path / "logs"
    process = start(2, arguments(output), logs)
    try:
        wait_for("step 8:", process, logs)
        ranks = [
            each
            for each in psutil.Process(process.pid).children(recursive=True)
            if "OMPI_COMM_WORLD_RANK" in each.environ()
        ]
        (one,) = [each for each in ranks if each.environ()["OMPI_COMM_WORLD_RANK"] == "1"]
        one.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 75
    finally:
        end(process)
    said = (logs / "stdout").read_text()
    step = int(said.rpartition("stopped on request after step ")[2].partition(";")[0])
    assert f"stopped on request after step {step}; the same command resumes from here\n" in said
    assert last(output).step == step
    resumed = launch(2, *arguments(output), output=output)
    assert f"resuming after step {step}, {64 * step} images into epoch 1: written by 2 ranks, now 2" in resumed.stdout
    assert same(output, finished.output)


def test_a_run_that_was_stopped_at_the_end_of_an_epoch_finishes_it(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    shutil.copytree(finished.output, output)
    last_step, before = last(output), checkpoint.read(output / "checkpoints/step-00000065.checkpoint")
    for number in (60, 65):
        (output / "checkpoints" / f"step-000000{number}.checkpoint").unlink()
    # As if stopped on request after the 66th step, before the evaluation: another position, the same weights.
    position = {"step": 66, "epoch": 2, "segments": [[2, 32, 22]]}
    metadata = {**before.metadata, "position": position}
    checkpoint.save(output / "checkpoints", dataclasses.replace(last_step, metadata=metadata))
    run = launch(2, *arguments(output), output=output)
    assert run.code == 0, run.stderr
    assert same(output, finished.output)
    assert [point["accuracy"] for point in history(output)] == [point["accuracy"] for point in history(finished.output)]


def test_a_finished_run_has_nothing_to_do_on_another_number_of_ranks_too(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    shutil.copytree(finished.output, output)
    (output / "results.json").unlink()
    run = launch(1, *arguments(output), output=output)
    assert f"nothing to do: {output} holds this run, finished, with accuracy" in run.stdout
    assert json.loads((output / "results.json").read_text())["steps"] == 66


def test_rejects_shards_that_were_exchanged_between_starts(
    launch: Callable[..., Run],
    arguments: Callable[[Path], list[str]],
    finished: Run,
    digits_folder: Path,
    tmp_path: Path,
) -> None:
    output, data = shutil.copytree(finished.output, tmp_path / "run"), shutil.copytree(digits_folder, tmp_path / "data")
    names = sorted(path.stem for path in data.glob("train-*.idx"))[:2]
    for suffix in ("", ".idx"):
        first, second = ((data / f"{name}{suffix}") for name in names)
        first.rename(data / "kept")
        second.rename(first)
        (data / "kept").rename(second)
    run = launch(1, *arguments(output), "--data-dir", data, output=output)
    assert run.code == 2
    (error,) = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert error.startswith(f"error: the dataset is not that of the run in {output}: {names[0]} is another (")
    assert f", {names[1]} is another (" in error


def test_half_as_many_ranks_resume_with_half_the_learning_rate_and_the_rest_of_the_epoch(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    shutil.copytree(finished.output, output)
    for number in (65, 66):
        (output / "checkpoints" / f"step-000000{number}.checkpoint").unlink()
    run = launch(1, *arguments(output), output=output)
    assert "resuming after step 60, 1024 images into epoch 3: written by 2 ranks, now 1" in run.stdout
    assert "learning rate: 0.5 x 32 / 256 = 0.0625" in run.stdout
    # 413 images are left: 12 batches of 32.
    assert last(output).step == 72
    results = json.loads((output / "results.json").read_text())
    assert (results["world_size"], results["evaluated_images"]) == (1, 360)
    assert [(point["epoch"], point["world_size"]) for point in results["history"]] == [(1, 2), (2, 2), (3, 1)]


def wait_for(text: str, process: "subprocess.Popen[str]", logs: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while text not in (logs / "stdout").read_text():
        assert process.poll() is None, (logs / "stderr").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_images_in_memory_are_announced_and_decide_what_is_learned(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    output = tmp_path / "decoded"
    run = launch(2, *arguments(output), "--epochs", "2", "--cache", "decoded", output=output)
    assert run.code == 0, run.stderr
    assert last(output).step == 44
    memory = run.stdout.splitlines()[2]
    # 1,797 images of 36 x 36 pixels need 7 MB.
    assert memory.startswith(
        "memory: '--cache decoded' needs 0.0 GiB a rank, 0.0 GiB for the 2 ranks of a machine, where "
    )
    # None of them is reduced.
    assert "reduced to 256" not in run.stdout
    # Its crops are others than those of the JPEGs; records in memory change nothing.
    other = launch(2, *arguments(output), "--epochs", "2", "--cache", "records", output=output)
    assert other.code == 2
    assert "'--cache' is off, but the checkpoints in" in other.stderr
