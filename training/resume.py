"""All ranks start from one state: the newest checkpoint's, or rank 0's first weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf

from training import checkpoint
from training.distributed import on_first_rank
from training.errors import UserError

_FOLDER = "checkpoints"


def save(output: Path, variables: Sequence[tf.Variable], epoch: int, metadata: Mapping[str, Any]) -> None:
    """Writes the state after so many epochs."""
    # Horovod: all ranks hold the same state, so one writes it; the others would write over its file.
    if hvd.rank() == 0:
        arrays = [variable.numpy() for variable in variables]
        metadata = {**metadata, "world_size": hvd.size()}
        checkpoint.save(output / _FOLDER, checkpoint.Checkpoint(epoch=epoch, arrays=arrays, metadata=metadata))


def resume(output: Path, variables: Sequence[tf.Variable], settings: Mapping[str, float]) -> tuple[int, dict[str, Any]]:
    """Sets the variables of every rank and returns the epochs done and the metadata of the checkpoint, if there is one.

    Args:
        output: The folder given as '--output-dir'.
        variables: All that training changes, optimizer slots included: they must exist by now.
        settings: The options that decide what is learned; a run goes on only with the same.
    """
    # Horovod: rank 0 alone reads, so that no rank goes on from an older file or stops alone at a damaged one.
    epoch, metadata = on_first_rank(lambda: _read(output, variables, settings))
    # Horovod: what rank 0 has read, or drawn at random, reaches the others here.
    hvd.broadcast_variables(variables, root_rank=0)
    return epoch, metadata


def _read(output: Path, variables: Sequence[tf.Variable], settings: Mapping[str, float]) -> tuple[int, dict[str, Any]]:
    found = checkpoint.newest(output / _FOLDER)
    if found is None:
        return 0, {}
    refuse_other_settings(output, settings, found.metadata["settings"])
    if [array.shape for array in found.arrays] != [tuple(variable.shape) for variable in variables]:
        raise UserError(f"the checkpoints in {output} hold the weights of another network; give another '--output-dir'")
    for variable, array in zip(variables, found.arrays, strict=True):
        variable.assign(array)
    return found.epoch, found.metadata


def refuse_other_settings(output: Path, given: Mapping[str, float], written: Mapping[str, float]) -> None:
    """Refuses to go on with a run whose options were others: the result would be neither run's."""
    differing = [name for name in given if given[name] != written[name]]
    if differing:
        now = " and ".join(f"'{name}' is {given[name]}" for name in differing)
        before = " ".join(f"{name} {written[name]}" for name in differing)
        raise UserError(
            f"{now}, but the checkpoints in {output} were written with {before}; "
            f"give {before} to go on with that run, or another '--output-dir' to start a new one"
        )
