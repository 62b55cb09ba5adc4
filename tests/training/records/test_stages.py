import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from training.records import stages
from training.records.stages import Columns, Pass, Released, Work


class Boxes(NamedTuple):
    """An element with two parts of varying length, as of detection."""

    boxes: tf.Tensor
    classes: tf.Tensor
    number: tf.Tensor


def boxes_of(number: int) -> list[list[float]]:
    return [[float(number), float(row), 1.0, 2.0] for row in range(number % 3)]


def read(numbers: Sequence[int]) -> Columns:
    contents = [np.array(boxes_of(number), np.float32).tobytes() for number in numbers]
    return np.array(contents, np.object_), np.array([[number, 7] for number in numbers], np.int32)


def parse(contents: tf.Tensor, pairs: tf.Tensor, numbers: tf.Tensor) -> tuple[tf.Tensor, ...]:
    return contents, pairs[:, 1] + tf.cast(numbers, tf.int32)


def make(content: tf.Tensor, class_: tf.Tensor, number: tf.Tensor, weight: tf.Tensor) -> tuple[tf.Tensor, ...]:
    boxes = tf.reshape(tf.io.decode_raw(content, tf.float32), [-1, 4])
    return Boxes(boxes, tf.fill([tf.shape(boxes)[0]], class_), number)


WORK = Work(
    read=read,
    columns=(tf.TensorSpec([None], tf.string), tf.TensorSpec([None, 2], tf.int32)),
    parse=parse,
    make=make,
    padded_shapes=([None, 4], [5], []),
)


def pass_of(numbers: Sequence[Sequence[int]], work: Work = WORK) -> Pass:
    rows = np.array(numbers, np.int64)
    return Pass(numbers=rows, weights=np.ones(rows.shape, np.float32), work=work)


def test_pads_the_parts_of_elements_that_are_no_images() -> None:
    dataset, close = stages.batches(pass_of([[0, 1, 2], [3, 4, 6]]), threads=2)
    first, second = dataset
    close()
    assert isinstance(first, Boxes)
    assert first.number.numpy().tolist() == [0, 1, 2]
    # To the longest of the batch, and to the given length.
    assert (first.boxes.shape, second.boxes.shape) == ((3, 2, 4), (3, 1, 4))
    assert first.boxes.numpy()[2].tolist() == boxes_of(2)
    assert first.boxes.numpy()[0].tolist() == [[0.0] * 4] * 2
    assert first.classes.numpy().tolist() == [[0] * 5, [8, 0, 0, 0, 0], [9, 9, 0, 0, 0]]


def test_a_released_function_holds_nothing() -> None:
    function = Released(lambda value: value + 1)
    assert function(1) == 2
    function.release()
    with pytest.raises(RuntimeError, match="the pass has ended"):
        function(1)


def chain(dataset: tf.data.Dataset) -> Iterator[tf.data.Dataset]:
    """Yield a dataset and the stages before it, the last one first."""
    yield dataset
    while hasattr(dataset, "_input_dataset"):
        dataset = dataset._input_dataset
        yield dataset


def test_the_stages_before_the_copy_to_a_device_have_the_options() -> None:
    dataset, close = stages.batches(pass_of([[0, 1, 2]]), threads=3, device="/CPU:0")
    close()
    found = list(chain(dataset))
    names = [type(stage).__name__ for stage in found]
    # TensorFlow demands that the copy is the last stage; its prefetch belongs to it.
    assert names[:3] == ["_PrefetchDataset", "_CopyToDeviceDataset", "_OptionsDataset"]
    # The copy's iterator sees these options, and none that are set after it.
    options = found[2].options()
    assert options.deterministic
    # 4 that read.
    assert options.threading.private_threadpool_size == 3 + 4
    assert options.threading.max_intra_op_parallelism == 1
    assert options.autotune.enabled is False
    assert options.experimental_distribute.auto_shard_policy == tf.data.experimental.AutoShardPolicy.OFF


def test_all_threads_make_elements_at_the_same_time() -> None:
    # A rank on P3 has fewer threads in TensorFlow's pool: without private threads it would be this one.
    environment = {**os.environ, "TF_NUM_INTEROP_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}
    program = [sys.executable, "-m", "tests.training.records.sleeping_elements"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["5", "5"]
