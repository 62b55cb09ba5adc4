"""The variables of a model that training changes, by name: weights, optimizer, metrics, and its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

#: Before the names of variables that `fit` sets to zero at the beginning of an epoch.
METRICS = "metrics/"


def build(model: Any, batch: Any) -> None:
    """Create all variables, which Keras does in the first step: a checkpoint is read before it.

    Args:
        model: A compiled model.
        batch: Any batch of its data.
    """
    inputs, targets, _ = tf.keras.utils.unpack_x_y_sample_weight(tf.nest.map_structure(tf.convert_to_tensor, batch))
    loss, metrics = getattr(model, "compiled_loss", None), getattr(model, "compiled_metrics", None)
    if not model.built or not _are_built(loss, metrics):
        # Without training: nothing of the model changes.
        outputs = model.distribute_strategy.run(lambda given: model(given, training=False), args=(inputs,))
        if targets is not None and not _are_built(loss, metrics):
            _build_metrics(loss, metrics, outputs, targets)
    optimizer = model.optimizer
    if hasattr(optimizer, "build"):
        optimizer.build(model.trainable_variables)
    else:
        # Keras' legacy optimizers, also behind a loss scale.
        legacy = getattr(optimizer, "inner_optimizer", optimizer)
        legacy._create_all_weights(model.trainable_variables)


def variables(model: Any, *, metrics: bool) -> dict[str, Any]:
    """Return the variables of a built model by names that are the same in every start of a script.

    Args:
        model: The model, with its optimizer.
        metrics: Whether those of its metrics are among them.
    """
    found: dict[str, Any] = {}
    seen = set() if metrics else {id(variable) for metric in model.metrics for variable in metric.variables}

    def add(name: str, variable: Any) -> None:
        if id(variable) not in seen and variable.dtype != tf.string:
            seen.add(id(variable))
            found[_unique(name, found)] = variable

    for metric in model.metrics:
        for number, variable in enumerate(metric.variables):
            add(f"{METRICS}{metric.name}/{number}", variable)
    for variable in model.weights:
        add(f"model/{plain(variable)}", variable)
    of_optimizer = model.optimizer.variables
    for variable in of_optimizer() if callable(of_optimizer) else of_optimizer:
        add(f"optimizer/{plain(variable)}", variable)
    # Learning rate, loss scale, and what a user's model keeps.
    for path, variable in _tracked(model, "other"):
        add(path, variable)
    return found


def values(of: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return copies of the variables' values."""
    return {name: _native(np.array(_local(variable).numpy())) for name, variable in of.items()}


def assign(variable: Any, value: NDArray[Any]) -> None:
    """Set a variable to a value of `values`."""
    local, kind = _local(variable), variable.dtype.as_numpy_dtype
    local.assign(value if value.dtype == kind else value.view(kind))


def plain(variable: Any) -> str:
    """Return the name of a variable without its number of an output."""
    return str(variable.name).partition(":")[0]


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of a type of NumPy's own, which bfloat16 is not, with the same bytes."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array


def _are_built(*containers: Any) -> bool:
    return all(container is None or container.built for container in containers)


def _build_metrics(loss: Any, metrics: Any, outputs: Any, targets: Any) -> None:
    if loss is not None and not loss.built:
        loss.build(outputs)
    if metrics is not None and not metrics.built:
        metrics.build(outputs, targets)


def _unique(name: str, taken: Mapping[str, Any]) -> str:
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}#{number}"
    return unique


def _tracked(root: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the variables that TensorFlow's own checkpoint of an object would have, with their paths."""
    view, seen, left = tf.train.TrackableView(root), {id(root)}, [(prefix, root)]
    while left:
        path, parent = left.pop(0)
        for name, child in view.children(parent).items():
            if id(child) in seen:
                continue
            seen.add(id(child))
            if isinstance(child, tf.Variable):
                yield f"{path}/{name}", child
            else:
                left.append((f"{path}/{name}", child))


def _local(variable: Any) -> Any:
    """Return this rank's part of a variable that a strategy reads as the mean over the ranks."""
    is_own = getattr(variable, "synchronization", None) == tf.VariableSynchronization.ON_READ
    parts: Sequence[Any] = getattr(variable, "values", ())
    return parts[0] if is_own and len(parts) == 1 else variable
