"""Test the newest checkpoint of a run, or each new one beside the training, without training.

mpirun -np 8 python -m training.mask_rcnn.evaluate --data-dir /fsx/data/coco --output-dir /fsx/runs/a --watch
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd

from training.coco import batches, categories
from training.coco.padded_shapes import PaddedShapes
from training.coco.run_images import load
from training.mask_rcnn.architecture import architecture
from training.mask_rcnn.evaluation import DetectionStep, Truth, evaluate, make_detection_step
from training.mask_rcnn.model import network_of
from training.records.run_data import Data
from training.runtime import checkpoint, devices, files, horovod_ranks, options, watchdog
from training.runtime.command_line import path, whole_number
from training.runtime.cores import data_threads
from training.runtime.distributed import RankParser, average, on_rank_zero, run, say
from training.runtime.errors import UserError
from training.runtime.network import Network
from training.runtime.options import changed, option
from training.runtime.position import Position
from training.runtime.rank_checkpoint import FOLDER, resume
from training.runtime.run_settings import RunSettings
from training.runtime.stop_request import Stopped, StopRequest
from training.runtime.tensorboard_curves import Curves

#: In the output folder: a point for each tested checkpoint.
NAME = "evaluations.json"

#: In the folder of TensorBoard's files: it reads one writer a folder, and the training writes beside.
CURVES = "tensorboard/evaluation"

# Between two looks for a new checkpoint.
_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    data_dir: Path = option(path, "the run's '--data-dir'")
    output_dir: Path = option(path, f"folder of the run; {NAME} and {CURVES}/ are written into it")
    batch_size: int = option(whole_number(1), "images per rank and step", default=4)
    on_bad_data: str = changed(RunSettings, "on_bad_data", group="")
    watch: bool = option(
        bool,
        "test each new checkpoint as it appears, until the one after the last epoch (the newest one only)",
        default=False,
    )


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.mask_rcnn.evaluate", __doc__, arguments, parser=RankParser)


class Evaluator:
    """Tests checkpoints of a run with the network that they are of."""

    def __init__(self, given: Settings, written: Mapping[str, Any], device: str) -> None:
        """Make network and data.

        Args:
            given: The command line.
            written: The settings in the metadata of a checkpoint.
            device: Name of the device, such as `cpu`.
        """
        # Horovod: one read for all; every rank stops where the file is missing.
        known = on_rank_zero(lambda: categories.read(given.data_dir))
        chosen = architecture(written["--architecture"], len(known), backbone=written["--backbone"] == "given")
        self._given = given
        self._network: Network = network_of(chosen, written["--precision"], None)
        self._step: DetectionStep = make_detection_step(self._network.model, chosen)
        images = batches.Settings(
            shapes=PaddedShapes(written["--short-side"], written["--long-side"]),
            classes=chosen.classes,
            threads=data_threads(hvd.local_size()),
            device="/GPU:0" if device != "cpu" else None,
            skip_damaged=given.on_bad_data == "skip",
        )
        self._data: Data = load(given.data_dir, images, batch_size=given.batch_size)
        self._curves = Curves(given.output_dir, CURVES)
        self._points: list[dict[str, Any]] = on_rank_zero(lambda: _points(given.output_dir))

    def has(self, step: int) -> bool:
        """Return whether the checkpoint of a step was tested, now or in an earlier start."""
        return any(point["step"] == step for point in self._points)

    def test_newest(self) -> dict[str, Any]:
        """Test the newest checkpoint and return its metadata."""
        network = self._network
        written = resume(
            self._given.output_dir, network.variables, {}, per_rank=network.statistics, names=("position", "settings")
        )
        position = Position.from_json(written["position"])
        if self.has(position.step):
            return written
        if network.statistics:
            # Horovod: a checkpoint of as many ranks has each rank's own.
            average(network.statistics)
        truth = Truth.of_dataset(self._given.data_dir, self._data.categories)
        found = evaluate(self._step, self._data.validation_batches(), truth)
        say(f"checkpoint of step {position.step}, epoch {position.epoch}: {found.sentence}")
        self._points.append({"step": position.step, "epoch": position.epoch, **found.results})
        self._curves.add(position.step, found.curves or {})
        on_rank_zero(self._write)
        return written

    def _write(self) -> None:
        output = self._given.output_dir
        try:
            files.write_json(output / NAME, {"evaluations": self._points})
        except OSError as error:
            raise files.unwritable(output, error) from error


def main() -> None:
    """Test the newest checkpoint, or all until the run has ended."""
    stop, given = StopRequest(), parse()
    device = devices.pin(hvd.local_rank(), hvd.local_size())
    say(f"ranks: {hvd.size()}; testing checkpoints of {given.output_dir}")
    written = _first(given, stop)
    evaluator = Evaluator(given, written["settings"], device)
    while True:
        # Before it reads one: a checkpoint that appears meanwhile is new.
        present = on_rank_zero(lambda: newest_step(given.output_dir))
        written = evaluator.test_newest()
        if not given.watch or _is_last(written):
            break
        while on_rank_zero(lambda: newest_step(given.output_dir)) == present:
            _wait(stop)
    watchdog.finished()


def newest_step(output: Path) -> int:
    """Return the step of the newest checkpoint by the names of the files; -1 without any."""
    steps = [checkpoint.step_of(path) for path in checkpoint.paths(output / FOLDER)]
    return max(steps, default=-1)


def _first(given: Settings, stop: StopRequest) -> dict[str, Any]:
    """Return the metadata of the newest checkpoint, and wait for one if the run is watched."""

    def read() -> dict[str, Any] | None:
        found = checkpoint.newest(given.output_dir / FOLDER)
        return found.metadata if found else None

    while (written := on_rank_zero(read)) is None:
        if not given.watch:
            raise UserError(
                f"'--output-dir' is {given.output_dir}, which has no checkpoint; give the folder of a run, or "
                "'--watch' to wait for the first one"
            )
        _wait(stop)
    if "--short-side" not in written.get("settings", {}):
        raise UserError(
            f"the checkpoints in {given.output_dir} are those of another program; give the folder of a run of "
            "training.mask_rcnn"
        )
    return written


def _is_last(written: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint is the one after the last epoch."""
    return bool(Position.from_json(written["position"]).epoch == written["settings"]["--epochs"])


def _wait(stop: StopRequest) -> None:
    """Wait a little; a stop request of any rank ends all."""
    watchdog.progress()
    time.sleep(_SECONDS)
    if any(hvd.allgather_object(stop.received, name="stop")):
        say("stopped on request; the same command tests the checkpoints after the last that it has tested")
        raise Stopped


def _points(output: Path) -> list[dict[str, Any]]:
    """Return the evaluations of earlier starts."""
    try:
        points: list[dict[str, Any]] = json.loads((output / NAME).read_bytes())["evaluations"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{output / NAME} cannot be read ({error}); move it elsewhere") from error
    return points


if __name__ == "__main__":
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    horovod_ranks.init()
    sys.exit(run(main))
