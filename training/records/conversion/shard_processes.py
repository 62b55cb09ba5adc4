"""Write shards in several processes, and show the progress."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TextIO

from ...runtime.errors import UserError
from .shard_plan import Shard
from .shard_writer import Conversion

_CELLS = 30

# Between two updates of the bar and of a log.
_BAR_SECONDS, _LOG_SECONDS = 0.2, 30.0


def convert(conversion: Conversion, shards: Sequence[Shard], workers: int) -> list[str]:
    """Write the shards that are not done, and return the damaged images, each with the reason."""
    left = [shard for shard in shards if not conversion.is_done(shard)]
    if len(left) < len(shards):
        print(f"{len(shards) - len(left):,} of {len(shards):,} shards are already done", flush=True)
    if not left:
        return []
    total, left_images = (sum(len(shard.images) for shard in some) for some in (shards, left))
    progress, damaged = Progress(total - left_images, total, sys.stdout), []
    try:
        for shard, found in run(conversion, left, workers):
            progress.add(len(shard.images))
            damaged += found
    finally:
        progress.end()
    return sorted(damaged)


def run(conversion: Conversion, shards: Sequence[Shard], workers: int) -> Iterator[tuple[Shard, list[str]]]:
    """Write the shards, and yield each finished one with its damaged images.

    Args:
        conversion: The settings that all shards share.
        shards: In the order in which the processes take them.
        workers: Processes.

    Raises:
        UserError: A shard cannot be written, or a process was killed.
    """
    # Spawned, not forked: TensorFlow's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(shards)), mp_context=context, initializer=_prepare) as pool:
        try:
            pending = _submit(pool, conversion, shards)
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    yield pending.pop(future), future.result()
        except BrokenProcessPool as error:
            raise UserError(
                f"another process ended one of {workers} processes, as the kernel does when memory runs out; "
                "give fewer '--workers' or more memory, then start again: the finished shards stay"
            ) from error
        finally:
            # Without waiting for unfinished shards: a shard gets its name when it is complete.
            for process in multiprocessing.active_children():
                process.kill()
            pool.shutdown(cancel_futures=True)


def _submit(
    pool: ProcessPoolExecutor, conversion: Conversion, shards: Sequence[Shard]
) -> dict[Future[list[str]], Shard]:
    # New processes inherit the blocked signals: Ctrl-C reaches all processes of the terminal, and only this one handles
    # it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return {pool.submit(conversion.write, shard): shard for shard in shards}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare() -> None:
    """Prepare a process for TensorFlow before the import: one thread, no GPU."""
    os.environ |= {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """End this process when its parent is killed: it must not write during the next run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


class Progress:
    """Counts converted images, and shows a bar on a terminal and lines in a log.

    Not tqdm: its bar would be one very long line in a pod's log.
    """

    def __init__(self, done: int, total: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with the images of earlier runs, which do not count for the speed."""
        self._before, self._done, self._total = done, done, total
        self._stream, self._clock = stream, clock
        self._started = self._shown = clock()

    def add(self, images: int) -> None:
        """Count images, and show the progress at intervals."""
        self._done += images
        is_terminal = self._stream.isatty()
        if self._clock() - self._shown >= (_BAR_SECONDS if is_terminal else _LOG_SECONDS):
            self._shown = self._clock()
            # Clears the rest of the line: the previous text may be longer.
            self._stream.write(f"\r{self.line()}\x1b[K" if is_terminal else f"{self.line()}\n")
            self._stream.flush()

    def end(self) -> None:
        """Show the progress and end the line."""
        self._stream.write(f"\r{self.line()}\x1b[K\n" if self._stream.isatty() else f"{self.line()}\n")
        self._stream.flush()

    def line(self) -> str:
        """Return the progress as a line."""
        share = self._done / max(self._total, 1)
        bar = ("#" * round(share * _CELLS)).ljust(_CELLS, ".")
        speed = (self._done - self._before) / max(self._clock() - self._started, 1e-6)
        left = f"{(self._total - self._done) / speed / 60:.1f} minutes left" if speed else "no image yet"
        return f"[{bar}] {self._done:,}/{self._total:,} images, {speed:,.0f} images/s, {left}"
