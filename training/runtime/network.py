"""A model with its optimizer: the variables that training changes, and how a checkpoint keeps them."""

from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from .files import make_atomically


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """The model and its optimizer. A layer is frozen by its `trainable`, before the network is made."""

    model: tf.keras.Model
    optimizer: tf.keras.mixed_precision.LossScaleOptimizer

    @property
    def variables(self) -> list[tf.Variable]:
        """All that is the same on every rank: weights, momentum, steps, loss scale and its count of finite steps."""
        # The optimizer's `variables` do not include the loss scale.
        tracked = tf.train.TrackableView(self.optimizer).descendants()
        own = [each for each in tracked if isinstance(each, tf.Variable)]
        return [*self.model.trainable_variables, *self._frozen, *own]

    @property
    def statistics(self) -> list[tf.Variable]:
        """The moving mean and variance of batch normalization, which each rank calculates from its own images."""
        frozen = {id(variable) for variable in self._frozen}
        return [variable for variable in self.model.non_trainable_variables if id(variable) not in frozen]

    def export(self, path: Path) -> None:
        """Write the model for Keras, at once, so that no other program finds half of it."""
        make_atomically(path, lambda file: self.model.save(file, save_format="keras"))

    @property
    def _frozen(self) -> list[tf.Variable]:
        """All variables of frozen layers: a frozen batch normalization does not move its statistics."""
        layers = [each for each in self.model.submodules if isinstance(each, tf.keras.layers.Layer)]
        variables = {id(variable) for layer in layers if not layer.trainable for variable in layer.weights}
        return [variable for variable in self.model.non_trainable_variables if id(variable) in variables]


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
