"""The split of a dataset, in either layout: TFRecord shards, or folders of JPEG files."""

import os
import re
from pathlib import Path

from training.records import jpeg_folder, shard_records
from training.records.numbered_records import Records, Team
from training.records.shard_files import TRAIN
from training.records.tfrecords import readable
from training.runtime.errors import UserError


def open_split(folder: Path, split: str, *, classes: int, team: Team, skip_damaged: bool = False) -> Records:
    """Return the records of a split: from its TFRecord shards, or else from its folders of JPEG files.

    Args:
        folder: Given as '--data-dir'.
        split: "train" or "validation".
        classes: Given as '--classes'.
        team: The ranks, all of which call this.
        skip_damaged: Whether to skip missing shards and damaged ends of shards. The result's `damage` and `damaged`
            report them.

    Raises:
        UserError: The split does not exist, or is incomplete or damaged; on every rank.
    """
    if team.on_rank_zero(lambda: _is_jpeg_folder(folder, split)):
        return jpeg_folder.load(folder, split, team=team, classes=classes)
    return shard_records.load(folder, split, team=team, skip_damaged=skip_damaged)


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
