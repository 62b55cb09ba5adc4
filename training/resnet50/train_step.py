"""One step: from uint8 images to changed weights, compiled into one graph."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import horovod.tensorflow as hvd
import tensorflow as tf

from training.imagenet.image_decoding import to_float

# LARS: how far a layer may move for its length; https://arxiv.org/abs/1708.03888, and MLPerf's reference.
_TRUST = 0.001

#: A compiled step: (images, labels, flips) to (mean loss of this rank's images, whether the weights were changed).
TrainStep = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """The model, and what changes it."""

    model: tf.keras.Model
    optimizer: tf.keras.mixed_precision.LossScaleOptimizer

    @property
    def variables(self) -> list[tf.Variable]:
        """All that is the same on every rank: weights, momentum, steps, loss scale and its count of finite steps."""
        # The optimizer's `variables` do not include the loss scale.
        tracked = tf.train.TrackableView(self.optimizer).descendants()
        return [*self.model.trainable_variables, *(each for each in tracked if isinstance(each, tf.Variable))]

    @property
    def statistics(self) -> list[tf.Variable]:
        """The moving mean and variance of batch normalization, which each rank calculates from its own images."""
        return list(self.model.non_trainable_variables)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepOptions:
    """The options of a training step.

    Attributes:
        classes: Of the labels.
        label_smoothing: Share of a label that is spread over all classes.
        weight_decay: Factor of the L2 term's gradient.
        lars: Whether each layer's step is set by the length of its weights.
        compression: `hvd.Compression.fp16` sends halves of the gradients' bytes.
        groups: All-reduces of a step; 0 leaves it to Horovod, which sends the gradients that are ready.
    """

    classes: int
    label_smoothing: float
    weight_decay: float
    lars: bool
    compression: type
    groups: int


def make_network(model: tf.keras.Model, momentum: float) -> Network:
    """Return the network with its optimizer and all variables, for the precision of the model.

    In float16 the loss scale begins at 2^15, doubles after 2,000 finite steps and halves after one that is not. In
    float32 it is 1, and the loss-scale optimizer only skips the steps that are not finite.
    """
    sgd = tf.keras.optimizers.SGD(momentum=momentum, jit_compile=False)
    scale, growth_steps = (2**15, 2000) if model.compute_dtype == "float16" else (1, 2**62)
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(sgd, initial_scale=scale, dynamic_growth_steps=growth_steps)
    # Otherwise the first step would create the momentum, too late to be restored and broadcast.
    optimizer.build(model.trainable_variables)
    return Network(model=model, optimizer=optimizer)


def make_train_step(network: Network, options: StepOptions) -> TrainStep:
    """Compile a step; every rank must call it with a batch of the same size."""
    model, optimizer = network.model, network.optimizer
    weights, statistics = model.trainable_variables, network.statistics

    # AutoGraph would rewrite Horovod too, and nothing in here needs it.
    @tf.function(autograph=False)
    def train_step(images: tf.Tensor, labels: tf.Tensor, flips: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        before = [statistic.read_value() for statistic in statistics]
        with tf.GradientTape() as tape:
            logits = model(to_float(images, flips, model.compute_dtype), training=True)
            loss = smoothed_loss(logits, labels, options)
            scaled = optimizer.get_scaled_loss(loss)
        # Horovod: the mean over the ranks, of gradients that are still scaled: float16 would lose the small ones, and
        # what is not finite on one rank is not finite on any, so all ranks skip the step and halve the scale.
        tape = hvd.DistributedGradientTape(
            tape,
            op=hvd.Average,
            compression=options.compression,
            num_groups=options.groups,
            # In float16 the sum of many ranks would be infinite before its parts are.
            gradient_predivide_factor=hvd.size() if options.compression is hvd.Compression.fp16 else 1.0,
        )
        gradients = optimizer.get_unscaled_gradients(tape.gradient(scaled, weights))
        gradients = [_regularized(*pair, options) for pair in zip(gradients, weights, strict=True)]
        changed = tf.reduce_all([tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients])
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        # The forward pass has moved the statistics already, perhaps to infinity.
        tf.cond(changed, tf.no_op, lambda: _assign(statistics, before))
        return loss, changed

    compiled: TrainStep = train_step
    return compiled


def smoothed_loss(logits: tf.Tensor, labels: tf.Tensor, options: StepOptions) -> tf.Tensor:
    """Return the mean cross-entropy with smoothed labels: [batch, classes] and [batch] to a number."""
    loss_of = tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=options.label_smoothing)
    return loss_of(tf.one_hot(labels, options.classes), logits)


def _regularized(gradient: tf.Tensor, weight: tf.Variable, options: StepOptions) -> tf.Tensor:
    """Add the gradient of the L2 term, and for LARS set the length of the step."""
    if len(weight.shape) == 1 and (options.lars or not _is_head_bias(weight)):
        # Batch normalization's scale and shift decay in neither recipe; LARS excludes the last layer's bias, too.
        return gradient
    decayed = gradient + options.weight_decay * weight
    if not options.lars:
        return decayed
    length, slope = tf.norm(weight), tf.norm(gradient)
    trust = tf.math.divide_no_nan(_TRUST * length, slope + options.weight_decay * length)
    return decayed * tf.where((length > 0) & (slope > 0), trust, 1.0)


def _is_head_bias(weight: tf.Variable) -> bool:
    return weight.name.startswith("dense") and "bias" in weight.name


def _assign(variables: Sequence[tf.Variable], values: Sequence[tf.Tensor]) -> tf.Operation:
    return tf.group(*[variable.assign(value) for variable, value in zip(variables, values, strict=True)])
