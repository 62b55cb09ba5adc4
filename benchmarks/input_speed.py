"""The cost of an image on one core: this project's input, others, and the decoder alone: `make bench-input`.

All run alternately in one process on one core, so that other load of the machine affects all. The first batch of each
is not counted, because the work before it is done once an epoch. The first round is not counted either. The naive
input and the decoder profit from the pipeline's `keep_freed_memory` too, because they run in the same process.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# Before TensorFlow starts its threads, which then all run on this core.
CORE = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from training.imagenet.classifier_settings import ClassifierSettings  # noqa: E402
from training.imagenet.imagenet_example import encode, labels  # noqa: E402
from training.imagenet.input_pipeline import InputPipeline, Settings  # noqa: E402
from training.records import epoch_order, shard_files  # noqa: E402
from training.records.epoch_order import Order  # noqa: E402
from training.records.image_features import ENCODED, LABEL  # noqa: E402
from training.records.pipeline import epoch_key  # noqa: E402
from training.records.rank_records import open_split  # noqa: E402

ROUNDS = 7
IMAGES, BATCH, EPOCHS = 256, 128, 3
HEIGHT, WIDTH, SIZE = 400, 500, 224
CLASSES = 1000
LEAST_TO_NAIVE, LEAST_TO_LIMIT, LEAST_OF_DECODED = 1.65, 0.90, 2.0

OURS, NAIVE, LIMIT, DECODED = "this pipeline", "naive", "decode_jpeg alone", "... --cache decoded"
# For information, without a bar.
BARE, SMALL = "... in a Python loop", "this, pre-resized"

Rates = Mapping[str, list[tuple[float, float]]]
"""Images per CPU second and images per second, for each contender and round."""


def main() -> None:
    """Print the rates and their ratios; the exit code is 1 if a ratio is below its bar."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        jpegs, sizes = write_images(Path(folder))
        decoded = with_images_in_memory(Path(folder) / "full")
        contenders: dict[str, Callable[[], Iterable[object]]] = {
            OURS: lambda: ours(Path(folder) / "full"),
            DECODED: lambda: decoded.training(order(), epoch=0),
            NAIVE: lambda: naive(Path(folder) / "full"),
            LIMIT: lambda: limit(jpegs),
            BARE: lambda: bare(jpegs),
            SMALL: lambda: ours(Path(folder) / "small"),
        }
        print(
            f"{IMAGES} JPEGs of {WIDTH}x{HEIGHT}, {sizes[0] / 1000:.0f} KB on average ({sizes[1] / 1000:.0f} KB with a "
            f"short side of 256), to {SIZE}x{SIZE}; one core, {ROUNDS} rounds in turn after one of warm-up"
        )
        rates: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for count in range(ROUNDS + 1):
            for name, make in contenders.items():
                rate = measure(make())
                if count:
                    rates[name].append(rate)
    check(rates)


def measure(batches: Iterable[object]) -> tuple[float, float]:
    """Return images per CPU second, of all threads, and images per second, from the first batch to the end."""
    count, cpu, wall = -1, 0.0, 0.0
    for _ in batches:
        if count < 0:
            cpu, wall = time.process_time(), time.perf_counter()
        count += 1
    return count * BATCH / (time.process_time() - cpu), count * BATCH / (time.perf_counter() - wall)


def check(rates: Rates) -> None:
    """Print the table, and end the program with the rates that are too low."""
    print(f"{'':20}{'images / CPU second':>34}{'images / second':>34}")
    for name, values in rates.items():
        print(f"{name:20}{_spread(values, 0):>34}{_spread(values, 1):>34}")
    misses = []
    bars = ((OURS, NAIVE, LEAST_TO_NAIVE), (OURS, LIMIT, LEAST_TO_LIMIT), (DECODED, OURS, LEAST_OF_DECODED))
    for one, other, bar in bars:
        cpu, wall = (_median(rates[one], which) / _median(rates[other], which) for which in (0, 1))
        print(f"{one} / {other}: {cpu:.2f} by CPU time, {wall:.2f} by the clock; the bar is {bar:.2f} by CPU time")
        # By CPU time, which does not count other load of the machine.
        if cpu < bar:
            misses.append(f"{one}: {cpu:.3f} x {other} is less than {bar:.2f}")
    if misses:
        sys.exit(f"error: {'; '.join(misses)}")


def _median(values: list[tuple[float, float]], which: int) -> float:
    return statistics.median(value[which] for value in values)


def _spread(values: list[tuple[float, float]], which: int) -> str:
    column = [value[which] for value in values]
    return f"{_median(values, which):,.0f} [{min(column):,.0f} to {max(column):,.0f}]"


# ------------------------------------------------------------------------------------------------------ contenders


def ours(folder: Path) -> Iterable[object]:
    """Return the program's batches: its records, its order, its stages, with one thread that decodes."""
    return pipeline(folder, None).training(order(), epoch=0)


def with_images_in_memory(folder: Path) -> InputPipeline:
    """Return the program's input after an epoch of '--cache decoded'."""
    made = pipeline(folder, range(IMAGES))
    for _ in made.training(order(), epoch=0):
        pass
    return made


def pipeline(folder: Path, kept: range | None) -> InputPipeline:
    """Return the program's input; the range's decoded images stay in memory."""
    records = open_split(folder, "train", classes=CLASSES)
    run = ClassifierSettings(synthetic=True, output_dir=folder, image_size=SIZE, classes=CLASSES)
    return InputPipeline(records, Settings(run=run, threads=1), kept)


def order() -> Order:
    """Return the program's order of several epochs."""
    passes = [
        epoch_order.training(IMAGES, (), batch_size=BATCH, rank=0, size=1, seed=0, epoch=epoch)
        for epoch in range(EPOCHS)
    ]
    return Order(*(np.concatenate([getattr(one, name) for one in passes]) for name in ("numbers", "weights")))


def naive(folder: Path) -> tf.data.Dataset:
    """Return the pipeline of tutorials, with the same crops: decode all, crop, resize, flip, normalise, on the CPU."""
    features = {ENCODED: tf.io.FixedLenFeature([], tf.string), LABEL: tf.io.FixedLenFeature([], tf.int64)}
    key = epoch_key(0, 0)

    def make(number: tf.Tensor, record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        example = tf.io.parse_single_example(record, features)
        image = tf.io.decode_jpeg(example[ENCODED], channels=3)
        begin, extent, _ = tf.image.stateless_sample_distorted_bounding_box(
            tf.shape(image),
            tf.zeros([1, 0, 4]),
            seed=tf.stack([tf.constant(key, tf.int64), number]),
            min_object_covered=0.0,
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(0.08, 1.0),
            max_attempts=100,
            use_image_if_no_bounding_boxes=True,
        )
        image = tf.image.resize(tf.slice(image, begin, extent), (SIZE, SIZE))
        image = tf.image.random_flip_left_right(image)
        return (image - (123.68, 116.28, 103.53)) / (58.395, 57.12, 57.375), example[LABEL] - 1

    shards = sorted(str(path) for path in folder.iterdir() if path.suffix != ".idx")
    dataset = tf.data.TFRecordDataset(shards).enumerate().repeat(EPOCHS)
    return dataset.map(make, num_parallel_calls=1).batch(BATCH).prefetch(2).with_options(_one_thread())


def limit(jpegs: list[bytes]) -> Iterable[object]:
    """Return the images of the decoder alone, with its defaults, over strings in memory, through tf.data."""
    dataset = tf.data.Dataset.from_tensor_slices(jpegs).repeat(EPOCHS)
    dataset = dataset.map(lambda jpeg: tf.io.decode_jpeg(jpeg, channels=3), num_parallel_calls=1)
    return _in_batches(dataset.with_options(_one_thread()))


def bare(jpegs: list[bytes]) -> Iterable[object]:
    """Return the same operation without tf.data and without passing on an image."""
    strings = [tf.constant(jpeg) for jpeg in jpegs] * EPOCHS
    return _in_batches(tf.io.decode_jpeg(string, channels=3) for string in strings)


def _in_batches(images: Iterable[object]) -> Iterator[None]:
    """Yield once per batch of images, and keep no image."""
    for number, _ in enumerate(images, 1):
        if number % BATCH == 0:
            yield


def _one_thread() -> tf.data.Options:
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    return options


# ---------------------------------------------------------------------------------------------------------- images


def write_images(folder: Path) -> tuple[list[bytes], tuple[float, float]]:
    """Write two data sets, of whole and of smaller images, with their indices.

    Returns:
        The whole JPEGs, and the mean sizes of both kinds in bytes.
    """
    random = np.random.default_rng(0)
    images = [_image(random) for _ in range(IMAGES)]
    small = [tf.image.resize(image, (256, 256 * WIDTH // HEIGHT)) for image in images]
    sets = {"full": [_jpeg(image, 92) for image in images], "small": [_jpeg(image, 90) for image in small]}
    for name, jpegs in sets.items():
        (folder / name).mkdir()
        for shard in range(2):
            examples = (
                encode(jpeg=jpeg, label=1, synset="n01440764", filename="a.JPEG", height=HEIGHT, width=WIDTH)
                for jpeg in jpegs[shard::2]
            )
            shard_files.write_shard(
                folder / name / shard_files.shard_name("train", shard, 2), examples, CLASSES, labels
            )
    full, smaller = (float(np.mean([len(jpeg) for jpeg in jpegs])) for jpegs in sets.values())
    return sets["full"], (full, smaller)


def _image(random: np.random.Generator) -> NDArray[np.float64]:
    """Return soft shapes and noise, with as many bytes as a photograph of ImageNet."""
    shapes = tf.image.resize(random.random((HEIGHT // 16, WIDTH // 16, 3)), (HEIGHT, WIDTH), method="bicubic")
    image: NDArray[np.float64] = np.clip(shapes * 200 + random.normal(20, 11, (HEIGHT, WIDTH, 3)), 0, 255)
    return image


def _jpeg(image: NDArray[Any], quality: int) -> bytes:
    """Compress with halved colour resolution (4:2:0), as cameras do."""
    jpeg: bytes = tf.io.encode_jpeg(tf.cast(image, tf.uint8), quality=quality, chroma_downsampling=True).numpy()
    return jpeg


main()
