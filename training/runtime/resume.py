"""All ranks start from one state: the newest checkpoint's, or rank 0's first weights."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from training.runtime import checkpoint
from training.runtime.distributed import on_first_rank
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
    """Writes the state after so many steps; every rank calls it.

    Where it cannot be written, as on a full disk, a warning says so and the run may go on: those before it stay.

    Args:
        output: The folder given as '--output-dir'.
        variables: What is the same on all ranks.
        step: Steps since the run began.
        metadata: Whatever else is needed to go on, as JSON knows it.
        per_rank: float32 variables that differ from rank to rank, such as the moving statistics of batch normalization.
        keep: How many checkpoints are kept.

    Returns:
        Whether it was written. Only rank 0 knows; the others return True.
    """
    # Horovod: every rank sends its own, so every rank must come here.
    rows = hvd.allgather(_flat(per_rank)[np.newaxis], name="per rank").numpy() if per_rank else None
    # Horovod: all ranks hold the same state, so one writes it; the others would write over its file.
    if hvd.rank() != 0:
        return True
    arrays = [variable.numpy() for variable in variables] + ([] if rows is None else [rows])
    metadata = {**metadata, "world_size": hvd.size()}
    try:
        checkpoint.save(output / _FOLDER, checkpoint.Checkpoint(step=step, arrays=arrays, metadata=metadata), keep)
    except (OSError, checkpoint.DamagedError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        print(
            f"warning: the checkpoint of step {step} could not be written to {output / _FOLDER} ({reason}); "
            "the run goes on, and those before it are kept",
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
    """Sets the variables of every rank and returns the metadata of the checkpoint; none without a checkpoint.

    Args:
        output: The folder given as '--output-dir'.
        variables: All that training changes, optimizer slots included: they must exist by now.
        settings: The options that decide what is learned; a run goes on only with the same.
        per_rank: As they were saved: each rank gets its own again, or the mean where the ranks are not as many as then.
    """
    # Horovod: rank 0 alone reads, so that no rank goes on from an older file or stops alone at a damaged one.
    metadata, rows = on_first_rank(lambda: _read(output, variables, settings, per_rank))
    # Horovod: what rank 0 has read, or drawn at random, reaches the others here.
    hvd.broadcast_variables([*variables, *per_rank], root_rank=0)
    if rows is not None:
        own = rows[hvd.rank()] if len(rows) == hvd.size() else rows.mean(axis=0, dtype=np.float64)
        _assign_flat(per_rank, own)
    return metadata


def _read(
    output: Path, variables: Sequence[tf.Variable], settings: Mapping[str, Any], per_rank: Sequence[tf.Variable]
) -> tuple[dict[str, Any], np.ndarray | None]:
    found = checkpoint.newest(output / _FOLDER)
    if found is None:
        return {}, None
    refuse_other_settings(output, settings, found.metadata["settings"])
    arrays = list(found.arrays)
    rows = arrays.pop() if per_rank else None
    fits = [array.shape for array in arrays] == [tuple(variable.shape) for variable in variables]
    if not fits or (rows is not None and rows.shape[1:] != _flat(per_rank).shape):
        raise UserError(f"the checkpoints in {output} hold the weights of another network; give another '--output-dir'")
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return found.metadata, rows


def _flat(variables: Sequence[tf.Variable]) -> np.ndarray:
    """One vector, because a hundred small arrays would be a hundred messages."""
    return np.concatenate([np.ravel(variable.numpy()) for variable in variables]).astype(np.float32)


def _assign_flat(variables: Sequence[tf.Variable], values: np.ndarray) -> None:
    start = 0
    for variable in variables:
        end = start + int(np.prod(variable.shape))
        variable.assign(values[start:end].reshape(variable.shape).astype(np.float32))
        start = end


def average(variables: Sequence[tf.Variable]) -> None:
    """Gives every rank the mean over all ranks."""
    _assign_flat(variables, hvd.allreduce(_flat(variables), op=hvd.Average, name="average").numpy())


def refuse_other_settings(output: Path, given: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """Refuses to go on with a run whose options were others: the result would be neither run's."""
    if not given.keys() <= written.keys():
        raise UserError(f"the checkpoints in {output} are those of another program; give another '--output-dir'")
    differing = [name for name in given if given[name] != written[name]]
    if differing:
        now = " and ".join(f"'{name}' is {given[name]}" for name in differing)
        before = " ".join(f"{name} {written[name]}" for name in differing)
        raise UserError(
            f"{now}, but the checkpoints in {output} were written with {before}; "
            f"give {before} to go on with that run, or another '--output-dir' to start a new one"
        )
