"""A rank's records: how the ranks of a run open the splits of a dataset together, and share them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from ..runtime import ranks
from ..runtime.distributed import on_rank_zero
from ..runtime.errors import RankError, UserError
from ..runtime.position import Segment
from . import epoch_order, jpeg_folder, shard_records
from .epoch_order import Order
from .numbered_records import Records
from .shard_files import TRAIN
from .tfrecords import readable

Item = TypeVar("Item")


def open_splits(folder: Path, splits: Sequence[str], *, classes: int, skip_damaged: bool) -> list[Records]:
    """Return the records of the splits; every rank must call it.

    Args:
        folder: Given as '--data-dir'.
        splits: Such as "train".
        classes: Given as '--classes'.
        skip_damaged: Whether to skip missing shards and damaged ends of shards.

    Raises:
        UserError: A split does not exist, or is incomplete or damaged; on every rank.
    """
    return [open_split(folder, split, classes=classes, skip_damaged=skip_damaged) for split in splits]


def open_split(folder: Path, split: str, *, classes: int, skip_damaged: bool = False) -> Records:
    """Return the records of a split: from its TFRecord shards, or else from its folders; every rank must call it.

    Args:
        folder: Given as '--data-dir'.
        split: "train" or "validation".
        classes: Given as '--classes'.
        skip_damaged: Whether to skip missing shards and damaged ends of shards. The result's `damage` and `damaged`
            report them.

    Raises:
        UserError: The split does not exist, or is incomplete or damaged; on every rank.
    """
    if on_rank_zero(lambda: _is_jpeg_folder(folder, split)):
        return jpeg_folder.load(folder, split, classes=classes)
    return shard_records.load(folder, split, skip_damaged=skip_damaged)


def _is_jpeg_folder(folder: Path, split: str) -> bool:
    if not folder.is_dir():
        raise UserError(f"'--data-dir' is {folder}, which is not a folder; give the folder of the dataset")
    with readable(folder):
        has_shards = any(re.fullmatch(rf"{split}-\d{{5}}-of-\d{{5}}", name) for name in os.listdir(folder))
    if has_shards:
        return False
    if split != TRAIN and jpeg_folder.find(folder, split) is None and jpeg_folder.find(folder, TRAIN) is not None:
        raise UserError(
            f"'--data-dir' is {folder}, which has a folder train, but none named validation or val; add val/<class>"
        )
    return jpeg_folder.find(folder, split) is not None


def own_range(records: Records) -> range:
    """Return the records that this rank reads in every epoch."""
    return epoch_order.own_range(len(records), ranks.rank(), ranks.size())


def training_order(
    records: int,
    segments: Sequence[Segment],
    *,
    batch_size: int,
    seed: int,
    epoch: int,
    buckets: NDArray[Any] | None = None,
) -> tuple[Order, int]:
    """Return this rank's order of an epoch, and the first step that is not done.

    Args:
        records: Records of the split.
        segments: The parts of the epoch that are done.
        batch_size: Records per rank and step.
        seed: The run's '--seed'.
        epoch: From 0.
        buckets: The bucket of each record; a step takes records of one. Default: any.
    """
    over, first_step = epoch_order.resume(segments, ranks.size(), batch_size)
    share = {"batch_size": batch_size, "rank": ranks.rank(), "size": ranks.size()}
    return epoch_order.training(records, over, **share, seed=seed, epoch=epoch, buckets=buckets), first_step


def evaluation_order(records: int, *, batch_size: int, buckets: NDArray[Any] | None = None) -> Order:
    """Return this rank's part of a split's records, each once; the arguments are as those of `training_order`."""
    share = {"batch_size": batch_size, "rank": ranks.rank(), "size": ranks.size()}
    return epoch_order.evaluation(records, **share, buckets=buckets)


def skipped_by_any(own: Mapping[str, set[int]]) -> dict[str, list[int]]:
    """Return the numbers of the records of each split that any rank has skipped; every rank must call it."""
    of_ranks = ranks.current().gather(dict(own), "skipped")
    return {split: sorted(set().union(*(each[split] for each in of_ranks))) for split in own}


def alone(batches: Iterator[Item]) -> Iterator[Item]:
    """Turn a user's error into one of this rank alone: the other ranks do not know of it."""
    try:
        yield from batches
    except UserError as error:
        raise RankError(str(error)) from error
