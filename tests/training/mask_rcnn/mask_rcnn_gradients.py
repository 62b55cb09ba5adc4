"""Print digests of the gradients of two networks with one seed, whose operations are deterministic.

As a process: deterministic operations cannot be switched off again.
"""

import hashlib

import tensorflow as tf

from tests.training.mask_rcnn.made_batch import TINY, made_batch
from training.mask_rcnn.losses import losses
from training.mask_rcnn.model import build

tf.config.experimental.enable_op_determinism()
for _ in range(2):
    tf.keras.utils.set_random_seed(3)
    model, digest = build(TINY), hashlib.sha256()
    with tf.GradientTape() as tape:
        total = tf.add_n(list(losses(model, made_batch([[1, 2], [3]]), TINY).values()))
    for gradient in tape.gradient(total, model.trainable_variables):
        digest.update(tf.convert_to_tensor(gradient).numpy().tobytes())
    print(digest.hexdigest())
