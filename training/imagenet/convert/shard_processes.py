"""Processes that write shards, as many at once as there are workers."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from training.imagenet.convert.plan import Shard, Work
from training.runtime.errors import UserError


def run(work: Work, shards: Sequence[Shard], workers: int) -> Iterator[tuple[Shard, list[str]]]:
    """Writes the shards, and returns each one that is done with its bad images.

    Args:
        work: What is the same for all of them.
        shards: In the order in which they are begun.
        workers: Processes.

    Raises:
        UserError: A shard cannot be written, or a process was killed.
    """
    # Spawned, not forked: TensorFlow's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(shards)), mp_context=context, initializer=_prepare) as pool:
        try:
            pending = _submit(pool, work, shards)
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    yield pending.pop(future), future.result()
        except BrokenProcessPool as error:
            raise UserError(
                f"one of {workers} processes was ended from outside, as the kernel does when memory runs out; "
                "give fewer '--workers' or more memory, then start again: the finished shards stay"
            ) from error
        finally:
            # Without waiting for the shards that are begun: what is not whole has not got its name yet.
            for process in multiprocessing.active_children():
                process.kill()
            pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, work: Work, shards: Sequence[Shard]) -> dict[Future[list[str]], Shard]:
    # Processes inherit what is blocked while they are started: Ctrl-C reaches all of the terminal's processes, and this
    # one is to answer it alone.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return {pool.submit(_write, work, shard): shard for shard in shards}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare() -> None:
    """Sets a process up before TensorFlow is imported in it: one thread, no GPU."""
    os.environ |= {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """Ends this process when the first one is killed: a new run must not find it writing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _write(work: Work, shard: Shard) -> list[str]:
    # Here, because it imports TensorFlow: in the processes only, and after they are set up.
    from training.imagenet.convert import work as worker

    return worker.write(work, shard)
