"""The state of a module and of its optimizers, by the names of the parameters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from ..runtime.errors import UserError
from ..runtime.rank_checkpoint import check_arrays
from .state_arrays import empty_array, is_sharded, to_array, to_tensor

# What torch.compile and activation checkpointing put into the names of a module.
_WRAPPERS = ("_orig_mod.", "_checkpoint_wrapped_module.")


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module inside `DistributedDataParallel`, `DataParallel` and `torch.compile`."""
    wrappers = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    while True:
        inner = module.module if isinstance(module, wrappers) else getattr(module, "_orig_mod", None)
        if not isinstance(inner, torch.nn.Module):
            return module
        module = inner


def adds_in_another_order(module: torch.nn.Module, ranks: int) -> bool:
    """Return whether the first step of a start adds the gradients of the ranks in another order than later ones.

    Without `find_unused_parameters`, DistributedDataParallel learns in the first step which gradients to send together:
    `should_rebuild_buckets` in torch/csrc/distributed/c10d/reducer.hpp of 2.15. The sum of two has one order only.
    """
    while not isinstance(module, torch.nn.parallel.DistributedDataParallel):
        inner = getattr(module, "_orig_mod", None)
        if not isinstance(inner, torch.nn.Module):
            return False
        module = inner
    return ranks > 2 and not module.find_unused_parameters


def unwrapped_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Return the optimizer inside that of `accelerate`."""
    inner = getattr(optimizer, "optimizer", None)
    return inner if isinstance(inner, torch.optim.Optimizer) else optimizer


def plain_name(name: str) -> str:
    """Return the name that a tensor has in the module that the user wrote."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


class ModuleState:
    """The tensors of a module as arrays."""

    def __init__(self, module: torch.nn.Module, name: str) -> None:
        """Read nothing yet.

        Args:
            module: The module, wrapped or not.
            name: With which the names of its arrays begin.
        """
        self.module, self._name = unwrapped(module), name
        if any(type(each).__name__ == "FullyShardedDataParallel" for each in module.modules()):
            raise UserError(
                f"'{name}' is in FullyShardedDataParallel, which PyTorch is about to remove; use "
                "torch.distributed.fsdp.fully_shard"
            )

    @property
    def buffers(self) -> list[torch.Tensor]:
        """The tensors that are no parameters, and that a checkpoint keeps."""
        return [each for name, each in self._tensors.items() if name not in self._parameters]

    def capture(self, arrays: dict[str, NDArray[Any]], *, copies: bool) -> None:
        """Add the arrays; every rank must call it for a sharded module.

        Args:
            arrays: Gets them.
            copies: Whether with their values.
        """
        for name, tensor in self._tensors.items():
            if copies:
                arrays[f"{self._name}/{plain_name(name)}"] = to_array(tensor)
            elif is_sharded(tensor):
                # This rank's part of what rank zero gathers.
                tensor.full_tensor()

    @torch.no_grad()
    def restore(self, output: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Set the tensors.

        Raises:
            UserError: The arrays are those of another module.
        """
        tensors = self._tensors
        own = {f"{self._name}/{plain_name(name)}": tensor for name, tensor in tensors.items()}
        written = {name: each for name, each in arrays.items() if name.startswith(f"{self._name}/")}
        check_arrays(output, {name: empty_array(tensor) for name, tensor in own.items()}, written)
        for name, tensor in own.items():
            tensor.copy_(placed_like(tensor, to_tensor(arrays[name], tensor.dtype)))

    @property
    def _tensors(self) -> dict[str, torch.Tensor]:
        # Tied weights have several names.
        state: dict[str, torch.Tensor] = self.module.state_dict(keep_vars=True)
        if others := [name for name, each in state.items() if not isinstance(each, torch.Tensor)]:
            raise UserError(
                f"'{self._name}' keeps {others[0]} in its state, which is no tensor; keep it in a buffer "
                "('register_buffer'), or give the module that has it as one of 'others'"
            )
        return state

    @property
    def _parameters(self) -> set[str]:
        return {name for name, _ in self.module.named_parameters(remove_duplicate=False)}


class OptimizerState:
    """The state of an optimizer, in which its parameters have their names in place of numbers."""

    def __init__(self, optimizer: torch.optim.Optimizer, modules: Mapping[str, torch.nn.Module], name: str) -> None:
        """Read nothing yet.

        Args:
            optimizer: The optimizer.
            modules: The modules whose parameters it may have, by their names in the run.
            name: Name of the optimizer.
        """
        self._optimizer, self._name = optimizer, name
        names = {
            id(parameter): f"{of_module}/{plain_name(each)}"
            for of_module, module in modules.items()
            for each, parameter in unwrapped(module).named_parameters()
        }
        # In the order of their numbers in `state_dict`.
        self._parameters: dict[str, torch.Tensor] = {}
        for place, group in enumerate(optimizer.param_groups):
            for number, parameter in enumerate(group["params"]):
                self._parameters.setdefault(names.get(id(parameter), f"group {place}/{number}"), parameter)

    def state_dict(self) -> dict[str, Any]:
        """Return the state with names."""
        names = list(self._parameters)
        state = self._optimizer.state_dict()
        groups = [{**group, "params": [names[each] for each in group["params"]]} for group in state["param_groups"]]
        return {**state, "state": {names[each]: of for each, of in state["state"].items()}, "param_groups": groups}

    @torch.no_grad()
    def load_state_dict(self, output: Path, state: Mapping[str, Any]) -> None:
        """Set the state.

        Raises:
            UserError: It is that of other parameters, or of another optimizer.
        """
        numbers = {name: number for number, name in enumerate(self._parameters)}
        own = self.state_dict()["param_groups"]
        self._check(output, own, state["param_groups"])
        placed = {
            numbers[name]: {key: self._placed(name, each) for key, each in of.items()}
            for name, of in state["state"].items()
        }
        groups = [
            {**written, "params": [numbers[each] for each in now["params"]]}
            for now, written in zip(own, state["param_groups"], strict=True)
        ]
        self._optimizer.load_state_dict({**state, "state": placed, "param_groups": groups})
        # A scheduler warns where it steps first in a start: the optimizer has stepped before it.
        self._optimizer._opt_called = True
        # It gives floating-point tensors the type of their parameter, such as bfloat16, and so loses bits.
        for name, parameter in self._parameters.items():
            for key, each in placed.get(numbers[name], {}).items():
                now = self._optimizer.state[parameter][key]
                if isinstance(each, torch.Tensor) and now.dtype != each.dtype:
                    self._optimizer.state[parameter][key] = each.to(now.device)

    def _placed(self, name: str, value: Any) -> Any:
        """Return a tensor as that of the parameter is placed: on which device, in which order, on which ranks."""
        parameter = self._parameters[name]
        is_alike = isinstance(value, torch.Tensor) and value.shape == parameter.shape and value.dim() > 0
        return placed_like(parameter, value) if is_alike else value

    def _check(self, output: Path, own: list[dict[str, Any]], written: list[dict[str, Any]]) -> None:
        if differing := _difference(own, written):
            raise UserError(
                f"the checkpoints in {output} were written with another '{self._name}' than "
                f"{type(self._optimizer).__name__} of this script: {differing}; give the optimizer of that run, or "
                "another output folder to start a new run"
            )


def _difference(own: list[dict[str, Any]], written: list[dict[str, Any]]) -> str:
    """Return how the groups of an optimizer differ from those of a checkpoint; empty where they do not."""
    if len(own) != len(written):
        return f"it has {len(own)} groups, and {len(written)} there"
    for group, other in zip(own, written, strict=True):
        if options := sorted(group.keys() ^ other.keys()):
            return f"only one of them has the option '{options[0]}'"
        here, there = set(group["params"]), set(other["params"])
        if extra := here - there:
            return f"the parameter {min(extra)} is not there"
        if lost := there - here:
            return f"the parameter {min(lost)} is only there"
    return ""


def placed_like(tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return a value on the device of a tensor of the same shape, in its memory's order, and sharded as it is."""
    if is_sharded(tensor):
        from torch.distributed.tensor import distribute_tensor

        moved = value.to(tensor.device)
        # Without a message: each rank has all values.
        return distribute_tensor(moved, tensor.device_mesh, tensor.placements, src_data_rank=None)
    return torch.empty_like(tensor, dtype=value.dtype, requires_grad=False).copy_(value)
