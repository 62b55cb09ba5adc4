"""Run `training.resnet50` with a network that compiles in a second, a line for each step, and three additions.

FAULTS_SAVE=2:1      the process kills itself in its second save, at the first fsync (see `SAVE_STAGES`)
FAULTS_SEEN=FOLDER   each rank writes there which records it trains on, a line per step
FAULTS_PAUSE=0.05    seconds that each step takes longer, so that a test can act at a certain step
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import horovod.tensorflow as hvd
import tensorflow as tf

from training.imagenet.image_work import Batch
from training.imagenet.input_pipeline import InputPipeline
from training.records.epoch_order import Order
from training.resnet50 import model
from training.resnet50.__main__ import main
from training.runtime import checkpoint, lines, loop, watchdog
from training.runtime.checkpoint import Checkpoint
from training.runtime.distributed import run
from training.runtime.steps import Steps
from training.runtime.task import StepInput


def small_network(image_size: int, classes: int) -> tf.keras.Model:
    return model.network(image_size, classes, (1, 1), 4)


def pause_in_each_step(seconds: float) -> None:
    start = Steps.start

    def slow_start(self: Steps, given: StepInput, waited: float) -> None:
        time.sleep(seconds)
        start(self, given, waited)

    mock.patch.object(Steps, "start", slow_start).start()


def kill_in_save(number: int, stage: int) -> None:
    """Kill this process in its save of this number, from 1, at this call of fsync; 0: in the middle of the write."""
    save, fsync = checkpoint.save, os.fsync
    saves: list[int] = []
    syncs: list[int] = []

    def counted_save(folder: Path, state: Checkpoint, keep: int) -> Path:
        saves.append(state.step)
        return save(folder, state, keep)

    def deadly_fsync(descriptor: int) -> None:
        if len(saves) == number:
            syncs.append(descriptor)
            if stage == 0:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            if len(syncs) >= stage:
                os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    mock.patch.object(checkpoint, "save", counted_save).start()
    mock.patch.object(os, "fsync", deadly_fsync).start()


def note_records(folder: Path) -> None:
    training = InputPipeline.training

    def noted(self: InputPipeline, order: Order, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        with (folder / f"rank-{hvd.rank()}").open("a") as stream:
            for row, batch in enumerate(training(self, order, epoch, start_step), start_step):
                print(json.dumps([epoch, order.numbers[row].tolist()]), file=stream, flush=True)
                yield batch

    mock.patch.object(InputPipeline, "training", noted).start()


if __name__ == "__main__":
    model.build = small_network
    loop._EXCHANGE_STEPS, lines._SECONDS_BETWEEN_LINES = 1, 0.0
    pause_in_each_step(float(os.environ["FAULTS_PAUSE"]))
    if place := os.environ.get("FAULTS_SAVE"):
        kill_in_save(*map(int, place.split(":")))
    if folder := os.environ.get("FAULTS_SEEN"):
        note_records(Path(folder))
    watchdog.limit()
    hvd.init()
    sys.exit(run(main))
