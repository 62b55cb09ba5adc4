"""One step: from a batch to changed weights, compiled into one graph."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import tensorflow as tf

from training.runtime import elastic, tensorflow_ranks
from training.runtime.network import Network
from training.runtime.task import TrainStep

#: The forward pass in training: the tensors of a batch to the losses of this rank's images, each with a name.
Losses = Callable[..., Mapping[str, tf.Tensor]]

#: A rule of decay: from a mean gradient and its weight to the gradient with which the weight changes.
DecayRule = Callable[[tf.Tensor, tf.Variable], tf.Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepOptions:
    """The options of a training step.

    Attributes:
        decay: The rule of decay. Default: none.
        clip_norm: The longest that the gradients of all weights together may be, after the decay. Default: any length.
        compression: `none`, or `fp16`, which sends halves of the gradients' bytes.
        groups: All-reduces of a step; 0 sends the gradients that are ready while others are computed.
    """

    decay: DecayRule = lambda gradient, weight: gradient
    clip_norm: float | None = None
    compression: str = "none"
    groups: int = 0

    @classmethod
    def of_run(
        cls, *, decay: DecayRule, compression: str, deterministic: bool, clip_norm: float | None = None
    ) -> "StepOptions":
        """Return the options of a program's run.

        Args:
            decay: The rule of decay.
            compression: `none` or `fp16`, as '--compression' takes it.
            deterministic: Whether every run must end with the same weights.
            clip_norm: As above.
        """
        # As one group the gradients of more than two ranks always add up in the same order. Otherwise Horovod sends
        # each gradient as soon as it is computed, during the computation of the others. And only with single operations
        # does Horovod 0.28 recognize that a rank is lost.
        one_group = deterministic and not elastic.active()
        return cls(
            decay=decay,
            clip_norm=clip_norm,
            compression=compression,
            groups=1 if one_group else 0,
        )


def make_train_step(network: Network, losses_of: Losses, options: StepOptions) -> TrainStep:
    """Compile a step that minimizes the sum of the losses; every rank must call it with a batch of the same size."""
    optimizer, statistics = network.optimizer, network.statistics
    weights, connected = network.model.trainable_variables, tensorflow_ranks.current()

    # AutoGraph would rewrite Horovod too, and nothing in here needs it.
    @tf.function(autograph=False)
    def train_step(*batch: tf.Tensor) -> tuple[Mapping[str, tf.Tensor], tf.Tensor]:
        before, scale = [statistic.read_value() for statistic in statistics], optimizer.loss_scale
        with tf.GradientTape() as tape:
            losses = losses_of(*batch)
            scaled = optimizer.get_scaled_loss(tf.add_n(list(losses.values())))
        # The mean over the ranks is of gradients that are still scaled: float16 would lose the small ones, and what is
        # not finite on one rank is not finite on any, so all ranks skip the step and halve the scale.
        means = connected.mean_gradients(tape, scaled, weights, compression=options.compression, groups=options.groups)
        gradients = optimizer.get_unscaled_gradients(means)
        gradients = [options.decay(*pair) for pair in zip(gradients, weights, strict=True)]
        if options.clip_norm is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, options.clip_norm)
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
