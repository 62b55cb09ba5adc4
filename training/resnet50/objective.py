"""What ResNet-50 minimizes: the loss, and the decay of its weights."""

from collections.abc import Mapping
from dataclasses import dataclass

import tensorflow as tf

from training.imagenet import first_loss
from training.imagenet.image_decoding import to_float
from training.runtime.train_step import Losses

# LARS: how far a layer may move for its length; https://arxiv.org/abs/1708.03888, and MLPerf's reference.
_TRUST = 0.001


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """The loss and the rule of decay.

    Attributes:
        classes: Of the labels.
        label_smoothing: Share of a label that is spread over all classes.
        weight_decay: Factor of the L2 term's gradient.
        lars: Whether each layer's step is set by the length of its weights.
    """

    classes: int
    label_smoothing: float
    weight_decay: float
    lars: bool

    def losses_of(self, model: tf.keras.Model) -> Losses:
        """Return the forward pass of a model in training."""

        def losses(images: tf.Tensor, labels: tf.Tensor, flips: tf.Tensor) -> Mapping[str, tf.Tensor]:
            logits = model(to_float(images, flips, model.compute_dtype), training=True)
            return {"training": self.smoothed_loss(logits, labels)}

        return losses

    def smoothed_loss(self, logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Return the mean cross-entropy with smoothed labels: [batch, classes] and [batch] to a number."""
        loss_of = tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=self.label_smoothing)
        return loss_of(tf.one_hot(labels, self.classes), logits)

    def decay(self, gradient: tf.Tensor, weight: tf.Variable) -> tf.Tensor:
        """Add the gradient of the L2 term, and for LARS set the length of the step."""
        if len(weight.shape) == 1 and (self.lars or not _is_head_bias(weight)):
            # Batch normalization's scale and shift decay in neither recipe; LARS excludes the last layer's bias, too.
            return gradient
        decayed = gradient + self.weight_decay * weight
        if not self.lars:
            return decayed
        length, slope = tf.norm(weight), tf.norm(gradient)
        trust = tf.math.divide_no_nan(_TRUST * length, slope + self.weight_decay * length)
        return decayed * tf.where((length > 0) & (slope > 0), trust, 1.0)

    def check_first(self, losses: Mapping[str, float]) -> None:
        """Reject a first loss that is not that of an untrained network.

        Raises:
            UserError: Labels or images are not what the run takes them for.
        """
        first_loss.check(losses["training"], self.classes)


def _is_head_bias(weight: tf.Variable) -> bool:
    return weight.name.startswith("dense") and "bias" in weight.name
