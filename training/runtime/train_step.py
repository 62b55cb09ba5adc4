"""One step: from a batch to changed weights, compiled into one graph."""

from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf

from . import elastic, tensorflow_ranks
from .network import Network
from .task import TrainStep

#: The forward pass in training: the tensors of a batch to the losses of this rank's images, each with a name.
Losses = Callable[..., Mapping[str, tf.Tensor]]

#: A rule of decay: from a mean gradient and its weight to the gradient with which the weight changes.
DecayRule = Callable[[tf.Tensor, tf.Variable], tf.Tensor]


def _no_decay(gradient: tf.Tensor, _: tf.Variable) -> tf.Tensor:
    return gradient


def make_train_step(
    network: Network,
    losses_of: Losses,
    *,
    decay: DecayRule = _no_decay,
    clip_norm: float | None = None,
    compression: str = "none",
    deterministic: bool = False,
) -> TrainStep:
    """Compile a step that minimizes the sum of the losses; every rank must call it with a batch of the same size.

    Args:
        network: Model and optimizer.
        losses_of: The forward pass.
        decay: The rule of decay.
        clip_norm: The longest that the gradients of all weights together may be, after the decay. Default: any length.
        compression: `none`, or `fp16`, which sends halves of the gradients' bytes.
        deterministic: Whether every run must end with the same weights.
    """
    optimizer, statistics = network.optimizer, network.statistics
    weights, connected = network.model.trainable_variables, tensorflow_ranks.current()
    # As one group the gradients of more than two ranks always add up in the same order. Otherwise Horovod sends each
    # gradient as soon as it is computed, during the computation of the others. And only with single operations does
    # Horovod 0.28 recognize that a rank is lost.
    groups = int(deterministic and not elastic.active())

    # AutoGraph would rewrite Horovod too, and nothing in here needs it.
    @tf.function(autograph=False)
    def train_step(*batch: tf.Tensor) -> tuple[Mapping[str, tf.Tensor], tf.Tensor]:
        before, scale = [statistic.read_value() for statistic in statistics], optimizer.loss_scale
        with tf.GradientTape() as tape:
            losses = losses_of(*batch)
            scaled = optimizer.get_scaled_loss(tf.add_n(list(losses.values())))
        # The mean over the ranks is of gradients that are still scaled: float16 would lose the small ones, and what is
        # not finite on one rank is not finite on any, so all ranks skip the step and halve the scale.
        means = connected.mean_gradients(tape, scaled, weights, compression=compression, groups=groups)
        gradients = optimizer.get_unscaled_gradients(means)
        gradients = [decay(*pair) for pair in zip(gradients, weights, strict=True)]
        if clip_norm is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, clip_norm)
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        # The optimizer has checked whether all gradients are finite: only then does it count the step, or double the
        # scale and count from 0 again.
        changed = (optimizer.dynamic_counter.read_value() > 0) | (optimizer.loss_scale > scale)
        # The forward pass has moved the statistics already, perhaps to infinity.
        tf.cond(changed, tf.no_op, lambda: _assign(statistics, before))
        return losses, changed

    compiled: TrainStep = train_step
    return compiled


def _assign(variables: Sequence[tf.Variable], values: Sequence[tf.Tensor]) -> tf.Operation:
    return tf.group(*[variable.assign(value) for variable, value in zip(variables, values, strict=True)])
