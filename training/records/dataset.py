"""Opens a split of a data set, whichever way it lies in its folder."""

import os
import re
from pathlib import Path

from training.records import jpeg_folder, shard_records
from training.records.numbered_records import Records, Team
from training.records.tfrecords import readable
from training.runtime.errors import UserError


def open_split(folder: Path, split: str, *, classes: int, team: Team, skip_damaged: bool = False) -> Records:
    """Finds the records of a split: in its TFRecord shards, or else in its folders of JPEG files.

    Args:
        folder: Given as '--data-dir'.
        split: "train" or "validation".
        classes: Given as '--classes'.
        team: The ranks, all of which call this.
        skip_damaged: Whether to go on without shards that are missing and without what is behind a damage; `faults` and
            `lost` of the result tell of them.

    Raises:
        UserError: There is no such split, or something of it is missing or damaged; on every rank.
    """
    if team.first(lambda: _is_jpeg_folder(folder, split)):
        return jpeg_folder.load(folder, split, team=team, classes=classes)
    return shard_records.load(folder, split, team=team, skip_damaged=skip_damaged)


def _is_jpeg_folder(folder: Path, split: str) -> bool:
    if not folder.is_dir():
        raise UserError(f"'--data-dir' is {folder}, which is not a folder; give the one that holds the data set")
    with readable(folder):
        has_shards = any(re.fullmatch(rf"{split}-\d{{5}}-of-\d{{5}}", name) for name in os.listdir(folder))
    return not has_shards and jpeg_folder.find(folder, split) is not None
