"""The readers of records without TensorFlow and Horovod: the same records in the same order."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.imagenet_data import example, framed, jpeg, write_shards
from tests.training.mpirun import ROOT
from training.records import epoch_order, rank_records
from training.records.tfrecords import DamagedRecordError
from training.runtime.position import Segment

_BATCH, _RANKS, _SEED = 3, 2, 5
_SEGMENTS = [Segment(world_size=3, batch_size=2, steps=1)]

# What a program without TensorFlow does: it opens a split, and reads a rank's order of an epoch.
_READ = """\
import sys
for name in ("tensorflow", "horovod"):
    sys.modules[name] = None
import hashlib, json
from pathlib import Path
from training.records import rank_records
from training.runtime import complete_run, ranks
from training.runtime.position import Segment

records = rank_records.open_split(Path(sys.argv[1]), "train", classes=9)
found = []
for rank in range(2):
    class Two(ranks.Ranks):
        rank = lambda self: rank
        size = lambda self: 2
    ranks.use(Two())
    segments = [Segment(world_size=3, batch_size=2, steps=1)]
    order, first = rank_records.training_order(len(records), segments, batch_size=3, seed=5, epoch=1)
    for number in order.numbers.ravel().tolist():
        (content,) = records.read([number])
        image, label = records.image(content, number)
        found.append([number, label, hashlib.sha256(image).hexdigest()])
print(json.dumps({"found": found, "fingerprint": dict(records.fingerprint)}))
"""


def shards(folder: Path) -> None:
    write_shards(folder, [example(number, label=1 + number % 9) for number in range(40)], 4)


def folders(folder: Path) -> None:
    for number in range(40):
        path = folder / "train" / f"n{number % 9}" / f"{number:02d}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(number))


@pytest.mark.parametrize("write", [shards, folders])
def test_reads_the_records_of_tensorflows_side_in_the_same_order(write: Callable[[Path], None], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    write(folder)
    result = subprocess.run(
        [sys.executable, "-c", _READ, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    records = rank_records.open_split(folder, "train", classes=9)
    expected = []
    for rank in range(_RANKS):
        finished, _ = epoch_order.resume(_SEGMENTS, _RANKS, _BATCH)
        share: dict[str, Any] = {"batch_size": _BATCH, "rank": rank, "size": _RANKS}
        order = epoch_order.training(len(records), finished, **share, seed=_SEED, epoch=1)
        numbers = order.numbers.ravel()
        jpegs, labels = records.parse(tf.constant(records.read(numbers.tolist())), tf.constant(numbers, tf.int64))
        expected += [
            [number, label, hashlib.sha256(content).hexdigest()]
            for number, label, content in zip(numbers.tolist(), labels.numpy().tolist(), jpegs.numpy(), strict=True)
        ]
    answer = json.loads(result.stdout)
    # Of 40 records 6 are done: five steps of both ranks are left.
    assert len(answer["found"]) == 30
    assert len(np.unique([number for number, *_ in answer["found"]])) == 30
    assert answer["found"] == expected
    assert answer["fingerprint"] == records.fingerprint


def test_a_record_that_is_no_example_is_a_damaged_one(tmp_path: Path) -> None:
    (path,) = write_shards(tmp_path / "data", [b"no example"], 1)
    records = rank_records.open_split(tmp_path / "data", "train", classes=9)
    assert path.read_bytes() == framed(b"no example")
    (content,) = records.read([0])
    with pytest.raises(DamagedRecordError, match=r"record 0 at byte 0 is not an image with a label \(not an Example\)"):
        records.image(content, 0)
