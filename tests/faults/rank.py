"""Run a training program with a network that compiles in a second, a line for each step, and what these variables ask.

FAULTS_PROGRAM=resnet50 which program: resnet50 or mask_rcnn
FAULTS_PAUSE=0.05       seconds that each step takes longer, so that a test can act at a certain step
FAULTS_WATCHDOG=60      the watchdog's limit in seconds, after the first step
FAULTS_SAVE=2:1         the process kills itself in its second save, at the first fsync (see `SAVE_STAGES`)
FAULTS_SEEN=FOLDER      each rank writes there which records it trains on, a line per step
FAULTS_READS=01:9:20:4  ranks, step, seconds or inf, number: so many reads after the step take that long
FAULTS_FSYNC=9:5        step, seconds: each fsync after the step takes that long
FAULTS_CLOCK=1:9:-60    rank, step, seconds: how far its wall clock jumps after the step
FAULTS_LOCK=40          seconds that a start waits for another run of this host; without it as long as the watchdog
"""

import dataclasses
import itertools
import json
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import horovod.tensorflow as hvd
import tensorflow as tf

from tests.faults.processes import own_rank
from training.imagenet.image_work import Batch
from training.imagenet.input_pipeline import InputPipeline
from training.mask_rcnn import __main__ as mask_rcnn
from training.mask_rcnn import drawings, training_job
from training.mask_rcnn.architecture import SMALL, Boxes
from training.records.epoch_order import Order
from training.records.shard_records import ShardRecords
from training.resnet50 import __main__ as resnet50
from training.resnet50 import model
from training.runtime import checkpoint, curve, horovod_ranks, lines, loop, watchdog
from training.runtime.checkpoint import Checkpoint
from training.runtime.distributed import run
from training.runtime.elastic import CheckHosts
from training.runtime.every import Every
from training.runtime.loop import Loop
from training.runtime.run_lock import Lock
from training.runtime.steps import Steps
from training.runtime.task import StepInput

finished = [0]
"""Steps that this process has seen."""


_PROGRAMS = {"resnet50": resnet50.main, "mask_rcnn": mask_rcnn.main}

# As few operations as there can be: a start takes seconds to trace them.
_TINY_MASK_RCNN = dataclasses.replace(
    SMALL,
    width=4,
    channels=8,
    box_width=16,
    mask_channels=8,
    mask_convolutions=1,
    anchor_samples=32,
    region_samples=16,
    training_boxes=Boxes(before=60, after=40),
    detection_boxes=Boxes(before=60, after=40),
)


def small_network(image_size: int, classes: int) -> tf.keras.Model:
    # Without blocks: a checkpoint has 27 KB, half of them the first convolution.
    return model.network(image_size, classes, (), 12)


def leave_out_pictures() -> None:
    """Leave out the pictures, which no fault is about; undisturbed runs draw them."""
    mock.patch.object(curve, "draw").start()
    mock.patch.object(drawings, "draw").start()


def pause_in_each_step(seconds: float) -> None:
    start, after_step = Steps.start, Loop._after_step

    def slow_start(self: Steps, given: StepInput, waited: float) -> None:
        time.sleep(seconds)
        start(self, given, waited)

    def noted(self: Loop, check_hosts: CheckHosts) -> None:
        finished.append(self.position.step)
        if "FAULTS_WATCHDOG" in os.environ:
            os.environ[watchdog._VARIABLE] = os.environ["FAULTS_WATCHDOG"]
        after_step(self, check_hosts)

    mock.patch.object(Steps, "start", slow_start).start()
    mock.patch.object(Loop, "_after_step", noted).start()


def shorten_minutes() -> None:
    """Let the minutes between two checkpoints last half a second each."""
    after_seconds = Every.after_seconds

    def sooner(self: Every, seconds: float) -> bool:
        return after_seconds(self, 120 * seconds)

    mock.patch.object(Every, "after_seconds", sooner).start()


def slow_reads(ranks: str, after: int, seconds: float, count: int) -> None:
    """Let the first reads of each of these ranks after a step take these seconds, or for ever."""
    read = ShardRecords.read
    left = itertools.chain(range(count), itertools.repeat(None))

    def slow_read(self: ShardRecords, numbers: Sequence[int]) -> list[bytes]:
        if finished[-1] >= after and own_rank() in ranks and next(left) is not None:
            if math.isinf(seconds):
                never_return()
            time.sleep(seconds)
            print("a slow read has ended", flush=True)
        return read(self, numbers)

    mock.patch.object(ShardRecords, "read", slow_read).start()


def never_return() -> None:
    """Wait in the system for something that never comes: for a writer of a pipe."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "pipe"
        os.mkfifo(pipe)
        os.open(pipe, os.O_RDONLY)


def slow_fsync(after: int, seconds: float) -> None:
    """Let the first fsync calls after a step take these seconds each, as on a busy file system."""
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        if finished[-1] >= after:
            print("slow fsync", flush=True)
            time.sleep(seconds)
        fsync(descriptor)

    mock.patch.object(os, "fsync", slow).start()


def jump(rank: str, after: int, seconds: float) -> None:
    """Let the wall clock of a rank jump after a step; the monotonic clock cannot."""
    now, now_ns = time.time, time.time_ns

    def offset() -> float:
        return seconds if own_rank() == rank and finished[-1] >= after else 0.0

    def other() -> float:
        return now() + offset()

    def other_ns() -> int:
        return now_ns() + int(offset() * 1e9)

    mock.patch.object(time, "time", other).start()
    mock.patch.object(time, "time_ns", other_ns).start()


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
                # By its path: the descriptor is for reading only.
                os.truncate(f"/proc/self/fd/{descriptor}", os.fstat(descriptor).st_size // 2)
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


def main(*, forked: bool = False) -> int:
    """Train as the program does, and return its exit code."""
    if forked:
        leave_out_pictures()
    # The passes over the graph take longer than all steps, and the faults are not about them.
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    model.build = small_network
    training_job._ARCHITECTURES["small"] = _TINY_MASK_RCNN
    loop._EXCHANGE_STEPS, lines._SECONDS_BETWEEN_LINES = 1, 0.0
    shorten_minutes()
    pause_in_each_step(float(os.environ["FAULTS_PAUSE"]))
    if place := os.environ.get("FAULTS_SAVE"):
        kill_in_save(*map(int, place.split(":")))
    if place := os.environ.get("FAULTS_READS"):
        ranks, after, seconds, count = place.split(":")
        slow_reads(ranks, int(after), float(seconds), int(count))
    if place := os.environ.get("FAULTS_FSYNC"):
        after, seconds = place.split(":")
        slow_fsync(int(after), float(seconds))
    if place := os.environ.get("FAULTS_CLOCK"):
        number, after, seconds = place.split(":")
        jump(number, int(after), float(seconds))
    if limit := os.environ.get("FAULTS_LOCK"):
        mock.patch.object(Lock, "_limit", return_value=float(limit)).start()
    if folder := os.environ.get("FAULTS_SEEN"):
        note_records(Path(folder))
    watchdog.limit()
    horovod_ranks.init()
    return run(_PROGRAMS[os.environ["FAULTS_PROGRAM"]])


if __name__ == "__main__":
    sys.exit(main())
