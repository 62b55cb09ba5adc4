"""Resume the state of all ranks: rank zero reads it, the others get it by broadcast."""

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

#: In the output folder.
FOLDER = "checkpoints"


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
    found = checkpoint.newest(output / FOLDER)
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
