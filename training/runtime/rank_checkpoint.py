"""Save and resume the state of all ranks: rank zero writes and reads, the others get it by broadcast."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.runtime import checkpoint
from training.runtime.distributed import assign_flat, flat, on_rank_zero
from training.runtime.errors import UserError

_FOLDER = "checkpoints"


def save(
    output: Path,
    variables: Sequence[tf.Variable],
    step: int,
    metadata: Mapping[str, Any],
    *,
    per_rank: Sequence[tf.Variable] = (),
    keep: int = 3,
) -> bool:
    """Write the state after a step; every rank must call it.

    Where it cannot be written, as on a full disk, it prints a warning and the run may continue: earlier checkpoints
    stay.

    Args:
        output: The folder given as '--output-dir'.
        variables: What is the same on all ranks.
        step: Steps since the run began.
        metadata: What else the run needs to resume, in JSON's types.
        per_rank: float32 variables that differ from rank to rank, such as the moving statistics of batch normalization.
        keep: Number of checkpoints to keep.

    Returns:
        Whether it was written. Only rank zero knows; the others return True.
    """
    # Horovod: every rank sends its values, so every rank must come here.
    rows = hvd.allgather(flat(per_rank)[np.newaxis], name="per rank").numpy() if per_rank else None
    # Horovod: all ranks hold the same state, so one writes it; the others would overwrite its file.
    if hvd.rank() != 0:
        return True
    arrays = [variable.numpy() for variable in variables] + ([] if rows is None else [rows])
    metadata = {**metadata, "world_size": hvd.size()}
    return _write(output / _FOLDER, checkpoint.Checkpoint(step=step, arrays=arrays, metadata=metadata), keep)


def _write(folder: Path, state: checkpoint.Checkpoint, keep: int) -> bool:
    try:
        checkpoint.save(folder, state, keep)
    except (OSError, checkpoint.DamagedError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        print(
            f"warning: the checkpoint of step {state.step} could not be written to {folder} ({reason}); "
            "the run continues, and earlier checkpoints are kept",
            file=sys.stderr,
            flush=True,
        )
        return False
    return True


def resume(
    output: Path,
    variables: Sequence[tf.Variable],
    settings: Mapping[str, Any],
    *,
    per_rank: Sequence[tf.Variable] = (),
) -> dict[str, Any]:
    """Set the variables of every rank and return the metadata of the checkpoint; empty without a checkpoint.

    Args:
        output: The folder given as '--output-dir'.
        variables: All that training changes, optimizer slots included: they must exist by now.
        settings: The options that decide what is learned; a run resumes only with the same.
        per_rank: As they were saved: each rank gets its values, or the mean where the number of ranks is another.
    """
    # Horovod: rank zero alone reads, so that no rank resumes from an older file or stops alone at a damaged one.
    metadata, rows = on_rank_zero(lambda: _read(output, variables, settings, per_rank))
    # Horovod: what rank zero has read, or drawn at random, reaches the others here.
    hvd.broadcast_variables([*variables, *per_rank], root_rank=0)
    if rows is not None:
        own = rows[hvd.rank()] if len(rows) == hvd.size() else rows.mean(axis=0, dtype=np.float64)
        assign_flat(per_rank, own)
    return metadata


def _read(
    output: Path, variables: Sequence[tf.Variable], settings: Mapping[str, Any], per_rank: Sequence[tf.Variable]
) -> tuple[dict[str, Any], NDArray[np.float32] | None]:
    found = checkpoint.newest(output / _FOLDER)
    if found is None:
        return {}, None
    check_settings(output, settings, found.metadata["settings"])
    arrays = list(found.arrays)
    rows = arrays.pop() if per_rank else None
    fits = [array.shape for array in arrays] == [tuple(variable.shape) for variable in variables]
    if not fits or (rows is not None and rows.shape[1:] != flat(per_rank).shape):
        raise UserError(f"the checkpoints in {output} hold the weights of another network; give another '--output-dir'")
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return found.metadata, rows


def check_settings(output: Path, given: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """Reject a checkpoint of a run with other options: the result would be neither run's."""
    if not given.keys() <= written.keys():
        raise UserError(f"the checkpoints in {output} are those of another program; give another '--output-dir'")
    differing = [name for name in given if given[name] != written[name]]
    if differing:
        now = " and ".join(f"'{name}' is {given[name]}" for name in differing)
        before = " ".join(f"{name} {written[name]}" for name in differing)
        raise UserError(
            f"{now}, but the checkpoints in {output} were written with {before}; "
            f"give {before} to resume that run, or another '--output-dir' to start a new one"
        )
