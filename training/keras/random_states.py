"""Random states of a rank: Python's, NumPy's, TensorFlow's, and those of the model's layers.

Keras 2 draws dropout with operations whose state is inside of TensorFlow's kernels, where nothing can read it. Such
layers get a `tf.random.Generator`, as `tf.keras.backend.experimental.enable_tf_random_generator` would give them.
"""

import random
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensorflow.python.ops import stateful_random_ops

_LAYERS = "random/layers/"
_GLOBAL = "random/tensorflow"
_NUMPY = "random/numpy"
_PYTHON = "random/python"

# Operations that keep a random state where nothing can read it.
_HIDDEN = {
    "Multinomial",
    "ParameterizedTruncatedNormal",
    "RandomGammaV3",
    "RandomGamma",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "TruncatedNormal",
}


def make_readable(model: Any, *, seed: int, rank: int) -> list[str]:
    """Give layers that draw with hidden states a generator, with another stream of numbers on each rank.

    Returns:
        The names of these layers. A step that was traced before must be traced again.
    """
    changed: list[str] = []
    for layer, kept in _generators_of(model):
        if kept._rng_type != kept.RNG_LEGACY_STATEFUL:
            continue
        own = seed if kept._seed is None else kept._seed
        kept._rng_type, kept._built = kept.RNG_STATEFUL, False
        kept._seed = zlib.crc32(f"{own} {rank} {len(changed)}".encode())
        kept._maybe_init()
        changed.append(layer.name)
    return changed


def hidden_in_step(model: Any) -> list[str]:
    """Return the operations of a model's traced step whose random state cannot be saved."""
    function = getattr(model, "train_tf_function", None)
    traced: list[Any] = getattr(function, "_list_all_concrete_functions", list)()
    return sorted({name for concrete in traced for name in hidden(concrete.graph.as_graph_def())})


def hidden(graph: Any) -> list[str]:
    """Return the operations of a graph whose random state cannot be saved."""
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return sorted({node.name for node in nodes if node.op in _HIDDEN})


def capture(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the states as arrays and as values in JSON's types."""
    arrays = {name: np.array(generator.state.numpy()) for name, generator in _generators(model).items()}
    kind, keys, place, has_gauss, gauss = np.random.get_state()
    arrays[_NUMPY] = np.asarray(keys)
    version, words, next_gauss = random.getstate()
    arrays[_PYTHON] = np.array(words, np.uint64)
    return arrays, {_NUMPY: [kind, place, has_gauss, gauss], _PYTHON: [version, next_gauss]}


def restore(model: Any, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
    """Set the states to those of `capture`."""
    for name, generator in _generators(model).items():
        if name in arrays:
            generator.state.assign(arrays[name])
    kind, *rest = values[_NUMPY]
    np.random.set_state((kind, arrays[_NUMPY], *rest))
    version, next_gauss = values[_PYTHON]
    random.setstate((version, tuple(int(word) for word in arrays[_PYTHON]), next_gauss))


def draw_anew(model: Any, *, seed: int, rank: int, step: int) -> None:
    """Set the states to new ones, which follow from the step: the ranks are others than those that wrote theirs."""
    for name, generator in _generators(model).items():
        generator.reset_from_seed(zlib.crc32(f"{seed} {rank} {step} {name}".encode()))
    words = np.random.SeedSequence([seed, rank, step]).generate_state(2)
    random.seed(int(words[0]))
    np.random.seed(words[1])


def _generators(model: Any) -> dict[str, Any]:
    found = {}
    for number, (layer, kept) in enumerate(_generators_of(model)):
        generator = getattr(kept, "_generator", None)
        if generator is not None:
            found[f"{_LAYERS}{number}/{layer.name}"] = generator
    # Created where a program asks for it, and not before.
    of_all = getattr(stateful_random_ops, "global_generator", None)
    return found if of_all is None else {**found, _GLOBAL: of_all}


def _generators_of(model: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the layers that draw at random, with Keras' object that draws."""
    for layer in model._flatten_layers():
        kept = getattr(layer, "_random_generator", None)
        if kept is not None and hasattr(kept, "_rng_type"):
            yield layer, kept
