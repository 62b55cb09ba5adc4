"""Train and evaluate on some ranks what one rank alone trains and evaluates; rank zero prints JSON in its last line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from tests.training.mask_rcnn.made_batch import SIDE, TINY_FROZEN_NORMALIZATION, made_batch, part
from training.coco.batches import Batch
from training.mask_rcnn import evaluation, model
from training.mask_rcnn.detection import Detections
from training.mask_rcnn.evaluation import Truth
from training.mask_rcnn.losses import losses
from training.mask_rcnn.recipe import throughput
from training.runtime import horovod_ranks, watchdog
from training.runtime.network import make_network
from training.runtime.train_step import make_train_step

horovod_ranks.init()
truth = Truth(annotations=Path(sys.argv[1]), coco_ids=[3, 8])
answers: dict[str, Any] = {}

# ---------------------------------------------------------------------------------------------------------- training

tf.keras.utils.set_random_seed(0)
tf.config.experimental.enable_op_determinism()
whole = made_batch([[1, 2], [3], [], [2, 2, -1]])
network = make_network(model.build(TINY_FROZEN_NORMALIZATION), 0.9)
hvd.broadcast_variables([*network.variables, *network.statistics], root_rank=0)
before = [weight.numpy() for weight in network.model.trainable_variables]
recipe = throughput(epochs=1)
step = make_train_step(
    network,
    lambda *tensors: losses(network.model, Batch(*tensors), TINY_FROZEN_NORMALIZATION),
    decay=recipe.decay,
    clip_norm=recipe.clip_norm,
    deterministic=True,
)
network.optimizer.learning_rate = 0.02
share = len(whole.images) // hvd.size()
for _ in range(3):
    found, _changed = step(*part(whole, hvd.rank() * share, (hvd.rank() + 1) * share))
after = [weight.numpy() for weight in network.model.trainable_variables]
answers["losses"] = {
    name: float(hvd.allreduce(value, op=hvd.Average, name=name)) for name, value in sorted(found.items())
}
answers["moved"] = max(float(np.abs(a - b).max()) for a, b in zip(after, before, strict=True))
np.savez(sys.argv[2], *after)

# -------------------------------------------------------------------------------------------------------- evaluation

IMAGES = 21
evaluation._CHUNK = 3


def detections(image: int) -> Detections:
    """Return boxes near the objects, with equal scores among them, and two false alarms."""
    random = np.random.default_rng(image)
    count = image % 4
    boxes = np.zeros((6, 4), np.float32)
    boxes[:count] = np.array([box for box, _ in objects(image)]).reshape(count, 4)
    boxes[: count + 2] += random.uniform(-3, 3, (count + 2, 4))
    boxes[count : count + 2, 2:] += 20
    labels = np.zeros(6, np.int32)
    labels[: count + 2] = random.integers(1, 3, count + 2)
    scores = np.round(random.random(6), 1).astype(np.float32)
    masks = random.uniform(0.3, 1, (6, 28, 28)).astype(np.float32)
    return Detections(np.clip(boxes, 0, SIDE), scores, labels, masks)


def objects(image: int) -> list[tuple[list[float], int]]:
    random = np.random.default_rng([image, 1])
    corners = random.uniform(0, 30, (image % 4, 2))
    return [([y, x, y + 25, x + 30], int(random.integers(1, 3))) for y, x in corners]


def annotations() -> dict[str, Any]:
    """Return the objects in images of twice the size, with COCO's ids."""
    entries = [
        {
            "id": 1 + 10 * image + place,
            "image_id": 1000 - image,
            "category_id": truth.coco_ids[label - 1],
            "bbox": [2 * box[1], 2 * box[0], 60, 50],
            "area": 3000,
            "iscrowd": 0,
            "segmentation": [
                [2 * box[1], 2 * box[0], 2 * box[3], 2 * box[0], 2 * box[3], 2 * box[2], 2 * box[1], 2 * box[2]]
            ],
        }
        for image in range(IMAGES)
        for place, (box, label) in enumerate(objects(image))
    ]
    images = [{"id": 1000 - image, "height": 2 * SIDE, "width": 2 * SIDE} for image in range(IMAGES)]
    categories = [{"id": number, "name": str(number)} for number in truth.coco_ids]
    return {"images": images, "annotations": entries, "categories": categories}


def batches() -> Iterator[Batch]:
    """Yield this rank's images, two at a time; some only fill the batch."""
    own = list(range(hvd.rank(), IMAGES, hvd.size()))
    for start in range(0, -(-IMAGES // hvd.size()), 2):
        numbers = own[start : start + 2]
        weights = [1.0] * len(numbers) + [0.0] * (2 - len(numbers))
        numbers = [*numbers, own[-1], own[-1]][:2]
        objectless = made_batch([[], []], size=(SIDE, SIDE))
        yield objectless._replace(
            keys=tf.constant([[number, 0] for number in numbers], tf.int32),
            ids=tf.constant([1000 - number for number in numbers], tf.int64),
            originals=tf.fill([2, 2], 2 * SIDE),
            weights=tf.constant(weights),
        )


if hvd.rank() == 0:
    truth.annotations.write_text(json.dumps(annotations()))
seen: list[evaluation.Seen] = []
current: list[Batch] = []


def noted() -> Iterator[Batch]:
    for batch in batches():
        current[:] = [batch]
        yield batch


def step_of(images: tf.Tensor, sizes: tf.Tensor) -> Detections:
    made = [detections(int(number)) for number in current[0].keys[:, 0]]
    return Detections(*(tf.constant(np.stack(parts)) for parts in zip(*made, strict=True)))


measured = evaluation.evaluate(step_of, noted(), truth, seen, keep=3)
answers["results"] = {name: str(value) for name, value in sorted(measured.results.items())}
answers["same on every rank"] = len({str(each) for each in hvd.allgather_object(answers["results"], name="all")}) == 1
answers["curves"] = sorted(measured.curves or {})
answers["seen"] = [len(found.labels) for _, found in seen]
watchdog.finished()
if hvd.rank() == 0:
    print(json.dumps(answers), flush=True)
