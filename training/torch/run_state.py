"""The state of a run of PyTorch: what all ranks share, and what each has for itself."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from numpy.typing import NDArray

from ..runtime import ranks
from ..runtime.errors import UserError
from ..runtime.user_loop import State
from . import random_states
from .module_state import ModuleState, OptimizerState, adds_in_another_order, unwrapped_optimizer
from .sample_fingerprint import fingerprint
from .state_arrays import from_bytes, is_sharded, pack, to_array, to_bytes, to_tensor, unpack


class Stateful(Protocol):
    """An object with a state, as schedulers, scalers and metrics of PyTorch have one."""

    def state_dict(self) -> Any:
        """Return the state."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Set the state."""


class RunState:
    """Modules, optimizers and other objects with a state, each with a name.

    Attributes:
        modules: The modules.
        optimizers: The optimizers.
        others: Schedulers, the scaler, and what the user has in addition.
    """

    def __init__(self, objects: Mapping[str, Any]) -> None:
        """Sort the objects.

        Args:
            objects: By name.

        Raises:
            UserError: One has no state.
        """
        for name, each in objects.items():
            if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")):
                raise UserError(
                    f"'{name}' is a {type(each).__name__}, which has no state; give an object with 'state_dict()' and "
                    "'load_state_dict()', as those of PyTorch have"
                )
        self.modules = {name: each for name, each in objects.items() if isinstance(each, torch.nn.Module)}
        self.optimizers = {
            name: unwrapped_optimizer(each) for name, each in objects.items() if isinstance(each, torch.optim.Optimizer)
        }
        known = {**self.modules, **self.optimizers}
        self.others: dict[str, Stateful] = {name: each for name, each in objects.items() if name not in known}
        self._compared = False
        # A type that a checkpoint cannot keep is an error now, and not at the first save.
        pack({name: each.state_dict() for name, each in self.others.items()}, "", {}, copies=False)

    def warn(self) -> None:
        """Say that resumed sums of gradients may differ in their last bits."""
        modules = self.modules.items()
        names = [name for name, each in modules if adds_in_another_order(each, ranks.size())]
        if names and ranks.rank() == 0:
            print(
                f"warning: '{names[0]}' is in DistributedDataParallel on {ranks.size()} ranks: the first step of a "
                "start adds gradients in another order, so that a resumed run may differ in the last bits; make it "
                "with find_unused_parameters=True for the same bits",
                file=sys.stderr,
                flush=True,
            )

    def compare_weights(self) -> None:
        """Reject ranks that train apart, as without DistributedDataParallel: a checkpoint would keep rank zero's."""
        weights = [each for module in self.modules.values() for each in module.parameters()]
        sums = [each.detach().double().sum().item() for each in weights if not is_sharded(each)]
        all_sums = ranks.current().gather(repr(sums), "weights")
        for rank, other in enumerate(all_sums):
            if other != all_sums[0]:
                raise UserError(
                    f"the weights of rank {rank} are not those of rank 0: the ranks train apart; wrap the model in "
                    "torch.nn.parallel.DistributedDataParallel and call that one in the loop, or start one rank"
                )

    def seed(self, *numbers: int) -> None:
        """Set the random states of a start that resumes none, other ones on each rank."""
        random_states.seed(*numbers, ranks.rank())

    def capture(self, metadata: Mapping[str, Any], of_rank: Mapping[str, Any]) -> State:
        """Return the state; every rank must call it.

        Args:
            metadata: State of the caller that is the same on every rank, in JSON's types.
            of_rank: State of the caller on this rank.

        Raises:
            UserError: The ranks have different weights.
        """
        if not self._compared:
            self.compare_weights()
            self._compared = True
        arrays: dict[str, NDArray[Any]] = {}
        # The others would hold copies that rank zero writes.
        copies = ranks.rank() == 0
        for module in self._module_states:
            module.capture(arrays, copies=copies)
        states: dict[str, Any] = {name: each.state_dict() for name, each in self._optimizer_states.items()}
        states |= {name: each.state_dict() for name, each in self.others.items()}
        packed = {name: pack(each, name, arrays, copies=copies) for name, each in states.items()}
        own = {"random": random_states.capture(), "buffers": self._own_buffers(), **of_rank}
        return State(arrays=arrays, metadata={**metadata, "states": packed}, of_rank=to_bytes(own))

    def restore(self, output: Path, state: State) -> dict[str, Any]:
        """Set all objects and random states, and return the `of_rank` of the caller; empty where ranks are others.

        Raises:
            UserError: The state is that of other objects.
        """
        names = {*self.optimizers, *self.others}
        packed = state.metadata["states"]
        if names != packed.keys():
            differing = sorted(names ^ packed.keys())[0]
            here, there = ("here", "not there") if differing in names else ("there", "not here")
            raise UserError(
                f"the checkpoints in {output} were written with {', '.join(sorted(packed)) or 'no optimizer'}: "
                f"'{differing}' is {here}, and {there}; give what that run had, or another output folder"
            )
        for module in self._module_states:
            module.restore(output, state.arrays)
        for name, optimizer in self._optimizer_states.items():
            optimizer.load_state_dict(output, unpack(packed[name], state.arrays))
        for name, other in self.others.items():
            other.load_state_dict(unpack(packed[name], state.arrays))
        if not state.of_rank:
            return {}
        own = dict(from_bytes(state.of_rank))
        for buffer, value in zip(self._buffers, own.pop("buffers"), strict=False):
            with torch.no_grad():
                buffer.copy_(value)
        random_states.restore(own.pop("random"))
        return own

    @property
    def _module_states(self) -> list[ModuleState]:
        return [ModuleState(each, name) for name, each in self.modules.items()]

    @property
    def _optimizer_states(self) -> dict[str, OptimizerState]:
        return {name: OptimizerState(each, self.modules, name) for name, each in self.optimizers.items()}

    @property
    def _buffers(self) -> list[torch.Tensor]:
        return [buffer for module in self._module_states for buffer in module.buffers]

    def _own_buffers(self) -> list[torch.Tensor]:
        """Return the buffers of this rank where they differ from rank to rank, as the statistics of BatchNorm do."""
        buffers = [to_tensor(to_array(each), each.dtype) for each in self._buffers]
        return buffers if len(set(ranks.current().gather(fingerprint(buffers), "buffers"))) > 1 else []
