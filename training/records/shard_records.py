"""The records of a split in TFRecord files, with random access."""

import os
import resource
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.distributed import on_rank_zero, share
from ..runtime.errors import UserError
from . import example_reader, fingerprint, shard_files, tfrecords
from .image_features import ENCODED, LABEL
from .numbered_records import Records
from .tfrecords import Shard

if TYPE_CHECKING:
    import tensorflow as tf


class ShardRecords(Records):
    """The records of all shards, numbered in the order of the shards."""

    def __init__(self, shards: Sequence[Shard], missing: Sequence[str] = ()) -> None:
        self.shards, self.missing = shards, missing
        self._starts = np.cumsum([0, *(len(shard) for shard in shards)])
        self._descriptors: dict[Path, int] = {}
        # A run that restarts with another number of ranks opens them again.
        weakref.finalize(self, _close, self._descriptors)
        self._opening = threading.Lock()
        self.damage = [
            *(f"the shard {name} is missing" for name in missing),
            *(f"{shard.damage.where} {shard.damage.reason}" for shard in shards if shard.damage),
        ]
        self.damaged = sum(shard.damaged for shard in shards)
        self.fingerprint = fingerprint.of_shards(shards)
        _allow_open_files(len(shards))

    def __len__(self) -> int:
        return int(self._starts[-1])

    def sizes(self, numbers: Sequence[int]) -> NDArray[Any]:
        """Return the records' bytes, with framing."""
        sizes = np.concatenate([np.diff(shard.bounds) for shard in self.shards])
        chosen: NDArray[Any] = sizes[np.asarray(numbers, np.int64)]
        return chosen

    def read(self, numbers: Sequence[int]) -> list[bytes]:
        """Return serialized Examples with verified checksums."""
        places = [(self._descriptor(shard.path), shard, record) for shard, record in map(self._place, numbers)]
        for descriptor, shard, record in places:
            start, end = shard.bounds[record : record + 2].tolist()
            # All are requested before the first is read: a network file system answers them at the same time.
            os.posix_fadvise(descriptor, start, end - start, os.POSIX_FADV_WILLNEED)
        contents = []
        for descriptor, shard, record in places:
            with tfrecords.readable(shard.path):
                contents.append(tfrecords.read(descriptor, shard, record))
        return contents

    def parse(self, contents: "tf.Tensor", numbers: "tf.Tensor") -> "tuple[tf.Tensor, ...]":
        """Return the features of the Examples of a classified image: JPEG and label."""
        import tensorflow as tf

        # A missing feature gets an invalid value, so that the record is found and reported.
        wanted = {
            ENCODED: tf.io.FixedLenFeature([], tf.string, default_value=b""),
            LABEL: tf.io.FixedLenFeature([], tf.int64, default_value=-1),
        }
        features = tf.io.parse_example(contents, wanted)
        return features[ENCODED], features[LABEL]

    def image(self, content: bytes, number: int) -> tuple[bytes, int]:
        """Return JPEG and label of an Example; a missing label is -1, as in `parse`."""
        try:
            features = example_reader.features(content)
            return features.one_bytes(ENCODED, b""), features.one_int64(LABEL, -1)
        except ValueError as error:
            raise self.damaged_record(number, f"is not an image with a label ({error})") from error

    def where(self, number: int) -> str:
        """Return the shard, the record's number in it, and its offset in bytes."""
        shard, record = self._place(number)
        return tfrecords.where(shard.path, record, int(shard.bounds[record]))

    def _place(self, number: int) -> tuple[Shard, int]:
        index = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self.shards[index], int(number - self._starts[index])

    def _descriptor(self, path: Path) -> int:
        # Opened once: on Lustre an open is a request to the metadata server, and a read is not.
        with self._opening, tfrecords.readable(path):
            if path not in self._descriptors:
                self._descriptors[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return self._descriptors[path]


def load(folder: Path, split: str, *, skip_damaged: bool) -> ShardRecords:
    """Find the shards of a split and their records, each rank in a part of the shards.

    Raises:
        UserError: A shard is missing or damaged and `skip_damaged` is false, or there is no record.
    """
    found = on_rank_zero(lambda: shard_files.find(folder, split, allow_missing=skip_damaged))

    def load_one(path: Path) -> Shard:
        shard = tfrecords.load(path, shard_files.index_path(path))
        if shard.damage and not skip_damaged:
            raise shard.damage
        return shard

    records = ShardRecords(share(load_one, list(found.paths)), found.missing)
    if not len(records):
        raise UserError(f"'--data-dir' is {folder}, whose {split} shards have no record; convert the images again")
    return records


def _close(descriptors: dict[Path, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)


def _allow_open_files(more: int) -> None:
    """Raise this process's limit of open files, often 1,024: a single rank has all shards open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    raised = soft + more if hard == resource.RLIM_INFINITY else min(soft + more, hard)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
