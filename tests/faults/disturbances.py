"""What these variables ask of a rank of any framework, and a line for each step.

FAULTS_PAUSE=0.05       seconds that each step takes longer, so that a test can act at a certain step
FAULTS_WATCHDOG=60      the watchdog's limit in seconds, after the first step
FAULTS_SAVE=2:1         the process kills itself in its second save, at the first fsync (see `SAVE_STAGES`)
FAULTS_SEEN=FOLDER      each rank writes there which records it trains on, a line per step
FAULTS_READS=01:9:20:4  ranks, step, seconds or inf, number: so many reads after the step take that long
FAULTS_FSYNC=9:5        step, seconds: each fsync after the step takes that long
FAULTS_CLOCK=1:9:-60    rank, step, seconds: how far its wall clock jumps after the step
FAULTS_LOCK=40          seconds that a start waits for another run of this host; without it as long as the watchdog
"""

import itertools
import json
import math
import mmap
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tests.faults.processes import own_rank
from training.records.epoch_order import Order
from training.records.shard_records import ShardRecords
from training.runtime import checkpoint, curve, lines, loop, ranks, watchdog
from training.runtime.checkpoint import Checkpoint
from training.runtime.elastic import CheckHosts
from training.runtime.every import Every
from training.runtime.loop import Loop
from training.runtime.run_lock import Lock
from training.runtime.steps import Steps
from training.runtime.task import StepInput


class Finished:
    """The last step that this rank has finished, also in the processes that it forks to read."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)

    @property
    def step(self) -> int:
        return int.from_bytes(self._shared[:8])

    @step.setter
    def step(self, value: int) -> None:
        self._shared[:8] = value.to_bytes(8)


def disturb(pipeline: Any) -> None:
    """Inject the disturbances that the variables ask for; every rank must call it before it connects.

    Args:
        pipeline: The class whose `training` yields the batches.
    """
    finished, given = Finished(), os.environ
    loop._EXCHANGE_STEPS, lines._SECONDS_BETWEEN_LINES = 1, 0.0
    shorten_minutes()
    pause_in_each_step(finished, float(given["FAULTS_PAUSE"]))
    if place := given.get("FAULTS_SAVE"):
        kill_in_save(*map(int, place.split(":")))
    if place := given.get("FAULTS_READS"):
        numbers, after, seconds, count = place.split(":")
        slow_reads(finished, numbers, int(after), float(seconds), int(count))
    if place := given.get("FAULTS_FSYNC"):
        after, seconds = place.split(":")
        slow_fsync(finished, int(after), float(seconds))
    if place := given.get("FAULTS_CLOCK"):
        number, after, seconds = place.split(":")
        jump(finished, number, int(after), float(seconds))
    if limit := given.get("FAULTS_LOCK"):
        mock.patch.object(Lock, "_limit", return_value=float(limit)).start()
    if folder := given.get("FAULTS_SEEN"):
        note_records(finished, pipeline, Path(folder))


def leave_out_pictures() -> None:
    """Leave out the curve, which no fault is about; undisturbed runs draw it."""
    mock.patch.object(curve, "draw").start()


def pause_in_each_step(finished: Finished, seconds: float) -> None:
    train, start, after_step = Loop.train, Steps.start, Loop._after_step

    def begun(self: Loop, check_hosts: CheckHosts) -> dict[str, Any]:
        finished.step = self.position.step
        return train(self, check_hosts)

    def slow_start(self: Steps, given: StepInput, waited: float) -> None:
        time.sleep(seconds)
        start(self, given, waited)

    def noted(self: Loop, check_hosts: CheckHosts) -> None:
        finished.step = self.position.step
        if "FAULTS_WATCHDOG" in os.environ:
            os.environ[watchdog._VARIABLE] = os.environ["FAULTS_WATCHDOG"]
        after_step(self, check_hosts)

    mock.patch.object(Loop, "train", begun).start()
    mock.patch.object(Steps, "start", slow_start).start()
    mock.patch.object(Loop, "_after_step", noted).start()


def shorten_minutes() -> None:
    """Let the minutes between two checkpoints last half a second each."""
    after_seconds = Every.after_seconds

    def sooner(self: Every, seconds: float) -> bool:
        return after_seconds(self, 120 * seconds)

    mock.patch.object(Every, "after_seconds", sooner).start()


def slow_reads(finished: Finished, numbers: str, after: int, seconds: float, count: int) -> None:
    """Let the first reads of each of these ranks after a step take these seconds, or for ever."""
    read = ShardRecords.read
    left = itertools.chain(range(count), itertools.repeat(None))

    def slow_read(self: ShardRecords, records: Sequence[int]) -> list[bytes]:
        if finished.step >= after and own_rank() in numbers and next(left) is not None:
            if math.isinf(seconds):
                never_return()
            time.sleep(seconds)
            print("a slow read has ended", flush=True)
        return read(self, records)

    mock.patch.object(ShardRecords, "read", slow_read).start()


def never_return() -> None:
    """Wait in the system for something that never comes: for a writer of a pipe."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "pipe"
        os.mkfifo(pipe)
        os.open(pipe, os.O_RDONLY)


def slow_fsync(finished: Finished, after: int, seconds: float) -> None:
    """Let the first fsync calls after a step take these seconds each, as on a busy file system."""
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        if finished.step >= after:
            print("slow fsync", flush=True)
            time.sleep(seconds)
        fsync(descriptor)

    mock.patch.object(os, "fsync", slow).start()


def jump(finished: Finished, rank: str, after: int, seconds: float) -> None:
    """Let the wall clock of a rank jump after a step; the monotonic clock cannot."""
    now, now_ns = time.time, time.time_ns

    def offset() -> float:
        return seconds if own_rank() == rank and finished.step >= after else 0.0

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


def note_records(finished: Finished, pipeline: Any, folder: Path) -> None:
    """Write a line for each step of a rank: when, step, ranks, epoch and records."""
    training = pipeline.training

    def noted(self: Any, order: Order, epoch: int, start_step: int = 0) -> Iterator[Any]:
        with (folder / f"rank-{ranks.rank()}").open("a") as stream:
            for row, batch in enumerate(training(self, order, epoch, start_step), start_step):
                line = [time.monotonic(), finished.step + 1, ranks.size(), epoch, order.numbers[row].tolist()]
                print(json.dumps(line), file=stream, flush=True)
                yield batch

    mock.patch.object(pipeline, "training", noted).start()
