"""Write the state of all ranks while they train on: rank zero copies it to the host, and a thread writes it."""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from . import checkpoint, ranks, stop_request
from .distributed import flat
from .rank_checkpoint import FOLDER, names_of
from .ranks import Variable


class CheckpointWriter:
    """Writes the checkpoints of a run, one at a time.

    A kill at any moment leaves the same files as in `checkpoint.save`. As a context manager it waits at the end, by an
    error too: the next start must find the checkpoint.
    """

    def __init__(self, output: Path, *, keep: int = 3) -> None:
        """Write nothing yet.

        Args:
            output: The folder given as '--output-dir'.
            keep: Number of checkpoints to keep.
        """
        self._folder, self._keep = output / FOLDER, keep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint-writer")
        self._newest: Future[bool] | None = None

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Wait for a write in flight."""
        self._thread.shutdown()

    def save(
        self,
        variables: Sequence[Variable],
        step: int,
        metadata: Mapping[str, Any],
        *,
        per_rank: Sequence[Variable] = (),
    ) -> None:
        """Begin to write the state after a step, as soon as the write before has ended; every rank must call it.

        It returns when the values are copied, so that training may change them.

        Args:
            variables: Variables that are the same on all ranks.
            step: Steps since the run began.
            metadata: Other state that the run needs to resume, in JSON's types.
            per_rank: float32 variables that differ from rank to rank, such as the moving statistics of batch
                normalization.
        """
        self.wait()
        # Every rank sends its values, so every rank must come here.
        rows = ranks.current().rows(flat(per_rank), "per rank") if per_rank else None
        if ranks.rank() == 0:
            arrays = [variable.numpy() for variable in variables] + ([] if rows is None else [rows])
            self.save_arrays(arrays, step, {**metadata, "names": names_of(variables)})

    def save_arrays(self, arrays: Sequence[NDArray[Any]], step: int, metadata: Mapping[str, Any]) -> None:
        """Begin to write arrays that training no longer changes; on the other ranks it does nothing."""
        # At most one in flight: a second copy would need as much memory again, and no file would be newer.
        self.wait()
        # All ranks hold the same state, so one writes it; the others would overwrite its file.
        if ranks.rank() != 0:
            return
        state = checkpoint.Checkpoint(step=step, arrays=arrays, metadata={**metadata, "world_size": ranks.size()})
        with stop_request.blocked():
            self._newest = self._thread.submit(_write, self._folder, state, self._keep)

    @property
    def failed(self) -> bool:
        """Whether the newest save has ended and was not written. Only rank zero knows; the others return False."""
        return self._newest is not None and self._newest.done() and not self._newest.result()

    def wait(self) -> bool:
        """Return when nothing is in flight. Any rank may call it; the watchdog counts the time as one without progress.

        Returns:
            Whether the newest save was written. Only rank zero knows; the others return True.
        """
        return self._newest is None or self._newest.result()


def _write(folder: Path, state: checkpoint.Checkpoint, keep: int) -> bool:
    try:
        checkpoint.save(folder, state, keep)
    except (OSError, checkpoint.DamagedError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        print(
            f"warning: the checkpoint of step {state.step} could not be written to {folder} ({reason}); "
            "the run continues, and earlier checkpoints are kept",
            file=sys.stderr,
            flush=True,
        )
        return False
    return True
