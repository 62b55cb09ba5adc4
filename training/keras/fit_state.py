"""The state of a `fit` between two steps, of all ranks: what is the same on each of them is written once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime import ranks
from ..runtime.distributed import say
from ..runtime.rank_checkpoint import check_arrays
from ..runtime.user_loop import State
from . import callback_states, model_state, random_states
from .digests import digest
from .packed import pack, unpack

Arrays = dict[str, NDArray[Any]]

# Names of arrays that belong to no variable.
_CALLBACKS = "callbacks/"


@dataclass(kw_only=True)
class FitState:
    """Captures and restores the state of a model, its callbacks and the random states.

    Attributes:
        model: A built model.
        callbacks: All other callbacks of the `fit`.
        first: Their state before the first epoch of this start.
        output: The folder of the run.
        seed: Seed of the run.
    """

    model: Any
    callbacks: Sequence[Any]
    first: tuple[Arrays, dict[str, Any]]
    output: Path
    seed: int
    _warned: bool = False

    def capture(self, metadata: Mapping[str, Any], *, within_epoch: bool) -> State:
        """Return the state; every rank must call it.

        Args:
            metadata: Other state that is the same on every rank.
            within_epoch: Whether an epoch continues after it, and the sums of its metrics with it.
        """
        of_callbacks, values = callback_states.changed(callback_states.capture(self.callbacks), self.first)
        variables = model_state.variables(self.model, metrics=within_epoch)
        arrays = {**model_state.values(variables), **of_callbacks}
        random_arrays, random_values = random_states.capture(self.model)
        differing = _differing(arrays)
        self._warn(differing)
        own = {name: array for name, array in arrays.items() if name in differing}
        return State(
            arrays={**arrays, **_means(own, differing)},
            metadata={**metadata, "callbacks": values},
            of_rank=pack({**own, **random_arrays}, {"random": random_values, "callbacks": values}),
        )

    def restore(self, state: State, *, step: int, within_epoch: bool) -> None:
        """Set the state; every rank must call it.

        Args:
            state: What `capture` has returned.
            step: Steps since the run began.
            within_epoch: Whether the metrics of the epoch continue, too.

        Raises:
            UserError: The state is that of another model.
        """
        variables = model_state.variables(self.model, metrics=within_epoch)
        own, values = unpack(state.of_rank) if state.of_rank else ({}, {"callbacks": state.metadata["callbacks"]})
        arrays = {**state.arrays, **own}
        check_arrays(self.output, _lasting(model_state.values(variables)), _lasting(state.arrays))
        for name, variable in variables.items():
            # A metric of the script may be new.
            if name in arrays and arrays[name].shape == tuple(variable.shape):
                model_state.assign(variable, arrays[name])
        callback_states.restore(self.callbacks, arrays, values["callbacks"])
        if "random" in values:
            random_states.restore(self.model, own, values["random"])
        else:
            random_states.draw_anew(self.model, seed=self.seed, rank=ranks.rank(), step=step)

    def copy_from_rank_zero(self) -> None:
        """Give all ranks the weights and the optimizer of rank zero: they may have drawn others."""
        variables = model_state.variables(self.model, metrics=False)
        values = ranks.current().broadcast_arrays(list(model_state.values(variables).values()))
        if ranks.rank() > 0:
            for variable, value in zip(variables.values(), values, strict=True):
                model_state.assign(variable, value)

    def _warn(self, differing: Mapping[str, bool]) -> None:
        """Say once that ranks which should train one model train several."""
        weights = {f"model/{model_state.plain(weight)}" for weight in self.model.trainable_weights} & differing.keys()
        if weights and not self._warned:
            self._warned = True
            say(
                f"warning: {len(weights)} weights differ from rank to rank, such as {min(weights)}, so that each rank "
                "trains another model; give compile() an optimizer of hvd.DistributedOptimizer"
            )


def _lasting(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays without those of metrics, which a script may change, and of callbacks."""
    return {name: value for name, value in arrays.items() if not name.startswith((model_state.METRICS, _CALLBACKS))}


def _differing(arrays: Mapping[str, NDArray[Any]]) -> dict[str, bool]:
    """Return the names of arrays that differ from rank to rank, with whether all ranks have one of the same shape."""
    if ranks.size() == 1:
        return {}
    kinds = {name: (digest(array), array.shape, str(array.dtype)) for name, array in arrays.items()}
    of_all = ranks.current().gather(kinds, "digests")
    names = {name for each in of_all for name in each}
    differing = sorted(name for name in names if len({each.get(name, ("",))[0] for each in of_all}) > 1)
    return {name: len({each.get(name, ("", None, ""))[1:] for each in of_all}) == 1 for name in differing}


def _means(own: Mapping[str, NDArray[Any]], differing: Mapping[str, bool]) -> Arrays:
    """Return the means over the ranks, with which another number of ranks begins."""
    names = [name for name, on_all in differing.items() if on_all and np.issubdtype(own[name].dtype, np.floating)]
    if not names:
        return {}
    vector = np.concatenate([np.ravel(own[name]) for name in names], dtype=np.float32)
    mean, start, means = ranks.current().average(vector, "means"), 0, {}
    for name in names:
        end = start + own[name].size
        means[name] = mean[start:end].reshape(own[name].shape).astype(own[name].dtype)
        start = end
    return means
