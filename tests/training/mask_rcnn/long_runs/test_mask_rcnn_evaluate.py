"""The evaluation of checkpoints as a program beside the training."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.mask_rcnn.run_files import points, results
from tests.training.mpirun import PATIENCE, Run, end, start
from training.runtime import checkpoint


def test_an_evaluation_alone_finds_what_the_run_has_found(
    launch: Callable[..., Run], evaluation: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = shutil.copytree(finished.output, tmp_path / "run")
    run = launch(1, *evaluation(output), output=output)
    assert run.code == 0, run.stderr
    (point,) = points(output)
    expected = results(output)
    assert (point["step"], point["epoch"]) == (expected["steps"], 3)
    measured = {name: value for name, value in point.items() if "/" in name}
    assert measured == {
        name: pytest.approx(expected[name], abs=1e-4) if expected[name] is not None else None for name in measured
    }
    assert len(measured) == 24
    # Beside the file of the training, of which TensorBoard reads one a folder.
    (events,) = (output / "tensorboard/evaluation").iterdir()
    assert b"segm/AP" in events.read_bytes()
    again = launch(1, *evaluation(output), output=output)
    assert (again.code, points(output)) == (0, [point])
    assert "checkpoint of step" not in again.stdout


def test_a_watching_evaluation_tests_each_new_checkpoint_until_the_last(
    evaluation: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = shutil.copytree(finished.output, tmp_path / "run")
    present = sorted((output / "checkpoints").glob("step-*"))
    newest = present[-1].rename(tmp_path / present[-1].name)
    process = start(2, [*evaluation(output), "--watch"], tmp_path / "logs")
    try:
        deadline = time.monotonic() + PATIENCE
        while not (output / "evaluations.json").exists():
            assert process.poll() is None, (tmp_path / "logs/stderr").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # As a run does it: the oldest goes when the newest is there.
        newest.rename(output / "checkpoints" / newest.name)
        present[0].unlink()
        assert process.wait(timeout=PATIENCE) == 0, (tmp_path / "logs/stderr").read_text()
    finally:
        end(process)
    steps = [checkpoint.step_of(path) for path in present[-2:]]
    assert [point["step"] for point in points(output)] == steps


def test_a_damaged_record_ends_an_evaluation_or_is_skipped(
    launch: Callable[..., Run], evaluation: Callable[[Path], list[str]], shapes: Path, finished: Run, tmp_path: Path
) -> None:
    output = shutil.copytree(finished.output, tmp_path / "run")
    data = shutil.copytree(shapes, tmp_path / "data")
    (shard,) = (path for path in data.glob("validation-*") if not path.suffix)
    content = bytearray(shard.read_bytes())
    # In the image of the first record.
    content[1000] ^= 255
    shard.write_bytes(content)
    arguments = [*evaluation(output), "--data-dir", str(data)]
    ended = launch(1, *arguments, output=output)
    assert (ended.code, str(shard) in ended.stderr) == (2, True)
    run = launch(1, *arguments, "--on-bad-data", "skip", output=output)
    assert (run.code, str(shard) in run.stderr) == (0, True)
    (point,) = points(output)
    assert (point["step"], point["evaluated_images"]) == (results(output)["steps"], 5)
